from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.exact_match import em
from replay.scorers.scorer import Unscored
from replay.testing import ScorerContract
from tests.data_tables import from_table
from tests.scorers.turns import score_of, turn


class TestExactMatchKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return em()


@from_table
def test_an_answer_matches_a_reference_or_not(answer, gold, score):
    assert score_of(em(), answer, gold) == score


@given(st.text())
def test_equal_texts_match(text):
    assert score_of(em(), text, [text]) == 1


def test_a_turn_without_a_gold_answer_is_unscored():
    assert em().observe([turn("Paris")]) == [Unscored(reason="no gold answer")]


def test_a_bad_pattern_is_refused():
    with pytest.raises(ValueError, match=r'declining: "\(" is not a regular expression'):
        em(declining=("(",))


def test_patterns_move_the_number_and_the_signature():
    strict = em(declining=())
    turns = [turn("I don't know", "CANNOTANSWER")]

    assert (em().observe(turns), strict.observe(turns)) == ([1.0], [0.0])
    assert em().signature == "em:squad+cjk+max|declining:default"
    assert strict.signature == "em:squad+cjk+max|declining:quac"
