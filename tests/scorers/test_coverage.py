from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.bertscore import _sentencizer, coverage, sentences, worst_covered
from replay.scorers.bertscore_model import BertModel, bert_model
from replay.testing import ScorerContract
from tests.scorers.neural_contract import close, without_batch_noise
from tests.scorers.turns import turn


@without_batch_noise
class TestCoverageKeepsTheContract(ScorerContract):
    @pytest.fixture(params=[None, 0.85])
    def scorer(self, request, tiny_model):
        return coverage(model=tiny_model, num_layers=2, threshold=request.param, device="cpu")


@pytest.mark.parametrize(
    ("scores", "value"),
    [
        ([[0.9, 0.2], [0.3, 0.6]], 0.6),  # each reference sentence is said, the second less well
        ([[0.9, 0.2]], 0.2),
        ([[0.9], [0.2]], 0.9),  # a further sentence of the answer does no harm
    ],
)
def test_the_worst_covered_sentence_of_the_reference_decides(scores, value):
    assert worst_covered(scores) == value


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=1)
    )
)
def test_another_sentence_of_the_answer_never_lowers_it(scores):
    assert worst_covered([*scores, [0.5] * len(scores[0])]) >= worst_covered(scores)


def test_sentences_go_by_punctuation():
    pytest.importorskip("spacy", reason='needs pip install "convreplay[neural]"')
    assert sentences("It was Paris. Was it?  Yes!") == ["It was Paris.", "Was it?", "Yes!"]
    assert sentences(" \n ") == []
    assert sentences("a \ud800.") == ["a ?."]


def test_no_answer_is_too_long_for_the_sentencizer():
    pytest.importorskip("spacy", reason='needs pip install "convreplay[neural]"')
    assert _sentencizer("en").max_length >= 10**9


def test_is_made_of_the_bertscores_of_sentences(tiny_model):
    said, gold = ["the cat sat.", "it was paris."], ["a dog sat.", "it was london.", "the mat."]
    model = bert_model(tiny_model, 2, "cpu")
    by_hand = min(max(score.f1 for score in model.score([(one, other) for one in said])) for other in gold)
    scorer = coverage(model=tiny_model, num_layers=2, threshold=None, device="cpu")

    assert scorer.observe([turn(" ".join(said), " ".join(gold))]) == [close(by_hand)]
    assert scorer.observe([turn("the cat sat. a dog.", "a dog.")]) == [close(1)]


def test_the_threshold_makes_it_adequate_or_not(tiny_model):
    turns = [turn("the cat sat. a dog.", "a dog."), turn("the cat sat.", "a dog. it was paris.")]
    raw = coverage(model=tiny_model, num_layers=2, threshold=None).observe(turns)

    assert coverage(model=tiny_model, num_layers=2, threshold=raw[1]).observe(turns) == [1.0, 1.0]
    assert coverage(model=tiny_model, num_layers=2, threshold=1.0).observe(turns) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [("", "a cat.", 0), ("a cat.", " ", 0), ("", "", 1), ("I don't know", "a cat.", 0)],
)
def test_blank_and_declining_answers(tiny_model, answer, gold, score):
    assert coverage(model=tiny_model, num_layers=2).observe([turn(answer, gold)]) == [score]


def test_sentences_of_all_turns_are_compared_in_one_go(tiny_model, monkeypatch):
    asked = []
    score = BertModel.score
    monkeypatch.setattr(
        BertModel, "score", lambda self, pairs, **kw: asked.append(1) or score(self, pairs, **kw)
    )

    coverage(model=tiny_model, num_layers=2).observe(
        [turn("a cat. a dog.", "a mat.", depth=d) for d in (1, 2)]
    )
    assert len(asked) == 1


def test_settings_without_meaning_are_refused(tmp_path):
    with pytest.raises(ValueError, match="threshold"):
        coverage(threshold=85)
    with pytest.raises(ValueError, match=r"threshold: -1\.01 is not between -1 and 1"):
        coverage(threshold=-1.01)
    assert "threshold:-1|" in coverage(threshold=-1).signature
    assert "threshold:1|" in coverage(threshold=1).signature
    with pytest.raises(ValueError, match="num_layers"):
        coverage(model=str(tmp_path))
    with pytest.raises(ValueError, match="batch_size"):
        coverage(batch_size=0)


def test_the_signature_names_threshold_and_model():
    assert coverage().signature == (
        "coverage:bertscore-f1+max|threshold:0.85|model:roberta-large|layers:default|rescale:no"
        "|sentences:en|declining:default"
    )
