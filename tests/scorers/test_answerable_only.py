"""Every scorer of an answer can be had for answerable questions only."""

from __future__ import annotations

import pytest

from replay.scorers.bertscore import bertscore, coverage
from replay.scorers.bleu import Bleu4, bleu1, sentence_bleu
from replay.scorers.fuzzy import fuzzy
from replay.scorers.leave_one_out import coqa_em, coqa_f1, heq_d, heq_q, quac_f1
from replay.scorers.scorer import Unscored
from replay.scorers.similarity import similarity
from replay.scorers.word_overlap import em, f1, rouge1, rouge2, rouge_l
from tests.scorers.turns import turn

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
