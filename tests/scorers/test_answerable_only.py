"""Every scorer of an answer can be had for answerable questions only."""

from __future__ import annotations

import pytest

from replay.scorers.bertscore import bertscore
from replay.scorers.bleu1 import bleu1
from replay.scorers.bleu4 import Bleu4
from replay.scorers.coqa import coqa_em, coqa_f1
from replay.scorers.coverage import coverage
from replay.scorers.exact_match import em
from replay.scorers.fuzzy import fuzzy
from replay.scorers.quac_f1 import heq_d, heq_q, quac_f1
from replay.scorers.rouge_l import rouge_l
from replay.scorers.rouge_n import rouge1, rouge2
from replay.scorers.scorer import Unscored
from replay.scorers.sentence_bleu import sentence_bleu
from replay.scorers.similarity import similarity
from replay.scorers.token_f1 import f1
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
