from __future__ import annotations

import pytest

from replay.scorers.scorer import Unscored
from replay.scorers.word_overlap import em
from tests.data_tables import from_table
from tests.scorers.turns import score_of, turn


@from_table
def test_an_answer_matches_a_reference_or_not(answer, gold, score):
    assert score_of(em(), answer, gold) == score


def test_a_turn_without_a_gold_answer_is_unscored():
    assert em().observe([turn("Paris")]) == [Unscored(reason="no gold answer")]


def test_a_bad_pattern_is_refused():
    with pytest.raises(ValueError, match=r'declining: "\(" is not a regular expression'):
        em(declining=("(",))


def test_patterns_move_the_number():
    strict = em(declining=())
    turns = [turn("I don't know", "CANNOTANSWER")]

    assert (em().observe(turns), strict.observe(turns)) == ([1.0], [0.0])
