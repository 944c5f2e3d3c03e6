"""What holds for every scorer that compares an answer with references, over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from replay.scenario.assertions.operational_metrics import OPERATIONAL_METRICS
from replay.scorers.bertscore import bertscore, coverage
from replay.scorers.bleu import Bleu4, bleu1, sentence_bleu
from replay.scorers.fuzzy import fuzzy
from replay.scorers.leave_one_out import coqa_em, coqa_f1, heq_d, heq_q, quac_f1
from replay.scorers.operational import cost, latency, prompt_tokens
from replay.scorers.scorer import Unscored, lower_is_better
from replay.scorers.similarity import similarity
from replay.scorers.word_overlap import em, f1, rouge1, rouge2, rouge_l
from replay.testing import ScorerContract
from tests.scorers.turns import score_of, turn

SIGNATURES = {
    "em:squad+cjk+max|declining:default": em(),
    "em:squad+cjk+max|declining:quac": em(declining=()),
    "f1:squad+cjk+max|declining:default": f1(),
    "bleu1:plain+cjk+clip-max|bp:no|smooth:no|declining:default": bleu1(),
    "bleu1:squad+cjk+clip-max|bp:no|smooth:no|declining:default": bleu1(tokens="squad"),
    "rouge1:plain+cjk+max|declining:default": rouge1(),
    "rouge2:plain+cjk+stem+max|declining:default": rouge2(stemmer=True),
    "rouge_l:plain+cjk+max|beta:1|declining:default": rouge_l(),
    "rouge_l:squad+cjk+max|beta:1.2|declining:default": rouge_l(beta=1.2, tokens="squad"),
    "sentence_bleu:whitespace|smooth:method1-0.1|declining:default": sentence_bleu(),
    "coqa_em:squad+leave-one-out|unknown:word|declining:quac": coqa_em(),
    "coqa_f1:squad+leave-one-out|unknown:word|declining:quac": coqa_f1(),
    "quac_f1:squad+leave-one-out|min-human:0.4|declining:default": quac_f1(),
    "quac_f1:squad+leave-one-out|min-human:0|declining:default": quac_f1(min_human_f1=0),
    "heq_q:squad+leave-one-out|min-human:0.4|declining:default": heq_q(),
    "heq_q:squad+leave-one-out|min-human:0|declining:default": heq_q(min_human_f1=0),
    "fuzzy:partial+ends+squad+facts+max|threshold:0.8|declining:default": fuzzy(),
    "fuzzy:partial+ends+squad+facts+max|threshold:none|declining:default": fuzzy(threshold=None),
}
WITH_ONE_WORD_SCORES_0 = {"rouge2", "quac_f1"}
"""Equal texts of one word have no pairs of words; and what people part on isn't scored."""
CHECKED = {
    name: scorer for name, scorer in SIGNATURES.items() if name.split(":")[0] not in WITH_ONE_WORD_SCORES_0
}
CHECKED["quac_f1 of all"] = quac_f1(min_human_f1=0)


class TestKeepsTheContract(ScorerContract):
    @pytest.fixture(params=CHECKED.values(), ids=CHECKED)
    def scorer(self, request):
        return request.param


@pytest.mark.parametrize("signature", SIGNATURES)
def test_the_signature_names_all_that_can_move_the_number(signature):
    assert SIGNATURES[signature].signature == signature


WORD_SCORES = [em(), f1(), bleu1(), rouge1(), rouge_l()]
PHRASES = st.lists(st.sampled_from(["The", "cat", "sat", "on", "mat.", "it's"]), max_size=8).map(" ".join)


@pytest.mark.parametrize("scorer", WORD_SCORES, ids=lambda scorer: scorer.signature)
@given(text=st.text())
def test_equal_texts_score_1(scorer, text):
    assert score_of(scorer, text, [text]) == 1


@pytest.mark.parametrize("scorer", [*WORD_SCORES, rouge2(), sentence_bleu(), fuzzy(threshold=None)])
@given(answer=PHRASES, gold=st.lists(PHRASES, min_size=1, max_size=3), random=st.randoms())
def test_a_score_is_a_share_and_no_worse_with_another_reference(scorer, answer, gold, random):
    score, best = score_of(scorer, answer, gold), max(score_of(scorer, answer, [one]) for one in gold)

    assert 0 <= score <= 1
    assert score == score_of(scorer, answer, random.sample(gold, len(gold)))
    if scorer.name == "bleu1":  # all references together cover an answer
        assert score_of(scorer, answer, [*gold, "the mat"]) >= score >= best
    elif scorer.name != "sentence_bleu":
        assert score == best


@pytest.mark.parametrize("scorer", [*WORD_SCORES, sentence_bleu()], ids=lambda scorer: scorer.signature)
@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("", "cat", 0),
        ("cat", "", 0),
        ("", " ", 1),
        ("cat", "dog", 0),
        ("I don't know.", "CANNOTANSWER", 1),
        ("I don't know", "I don't know him", 0),  # shares words, but declines
    ],
)
def test_texts_without_words_and_declining_answers(scorer, answer, gold, score):
    assert score_of(scorer, answer, [gold]) == score


FACTORIES = [
    bertscore, bleu1, Bleu4, coqa_em, coqa_f1, coverage, em, fuzzy, heq_d, heq_q, quac_f1, rouge_l,
    sentence_bleu, similarity, f1, rouge1, rouge2,
]  # fmt: skip


@pytest.mark.parametrize("factory", FACTORIES, ids=lambda factory: factory.__name__)
def test_unanswerable_questions_can_be_left_out(factory):
    """Before any model is loaded."""
    turns = [turn("x", "CANNOTANSWER"), turn("x", "CANNOTANSWER", "cat"), turn("I don't know", "cat")]
    everything, some = factory(), factory(answerable_only=True)

    assert some.observe(turns)[:2] == [Unscored(reason="unanswerable question")] * 2
    assert not isinstance(some.observe(turns)[2], Unscored)
    assert not any(isinstance(one, Unscored) for one in everything.observe(turns))
    assert some.signature == f"{everything.signature}|questions:answerable"


@pytest.mark.parametrize("factory", FACTORIES, ids=lambda factory: factory.__name__)
def test_a_pattern_that_is_none_is_refused_by_every_scorer(factory):
    with pytest.raises(ValueError, match=r'declining: "\(" is not a regular expression .*\(unclosed group\)'):
        factory(declining=("no idea", "("))


@dataclass
class Toxicity:
    """A plug-in's scorer: a share of which less is better."""

    lower_is_better = True


@dataclass
class Speed:
    """One in seconds of which more is better, as of time saved."""

    unit = "s"
    lower_is_better = False


@pytest.mark.parametrize(
    ("scorer", "lower"),
    [
        (f1(), False),
        (latency(), True),
        (prompt_tokens(), True),
        (cost(), True),
        (Toxicity(), True),
        (Speed(), False),
        *((scorer, True) for scorer in OPERATIONAL_METRICS.values()),
    ],
)
def test_it_is_as_the_scorer_says_or_else_by_its_unit(scorer, lower):
    assert lower_is_better(scorer) is lower
