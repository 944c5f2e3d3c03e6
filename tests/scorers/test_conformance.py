"""What holds for every scorer that compares an answer with references, over all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.bleu import bleu1, sentence_bleu
from replay.scorers.fuzzy import fuzzy
from replay.scorers.leave_one_out import coqa_em, coqa_f1, heq_q, quac_f1
from replay.scorers.word_overlap import em, f1, rouge1, rouge2, rouge_l
from replay.testing import ScorerContract
from tests.scorers.turns import score_of

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


@pytest.mark.parametrize("scorer", [em(), f1(), bleu1(), rouge_l()], ids=lambda scorer: scorer.signature)
@given(text=st.text())
def test_equal_texts_score_1(scorer, text):
    assert score_of(scorer, text, [text]) == 1
