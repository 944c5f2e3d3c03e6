from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.scorers.fuzzy import fuzzy, fuzzy_ratio
from replay.testing import ScorerContract
from tests.scorers.turns import turn


class TestFuzzyKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return fuzzy()


class TestFuzzyWithoutThresholdKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return fuzzy(threshold=None)


@pytest.mark.parametrize(
    ("answer", "gold", "ratio"),
    [
        ("It was built in 1889, I believe.", "1889", 1),
        ("The Eiffel Tower", "eiffel tower!", 1),
        ("in", "in 1996", 1),  # it reads both ways
        ("abcd", "abce", 6 / 7),  # the longest place in common: "abc" against "abcd"
        ("abcd", "wxyz", 0),
        ("", "cat", 0),
        ("the", "cat", 0),
        ("?", "the", 1),
    ],
)
def test_the_shorter_text_is_looked_for_in_the_longer(answer, gold, ratio):
    assert fuzzy_ratio(answer, gold) == pytest.approx(ratio)


@given(st.text(), st.text())
def test_the_ratio_is_a_share_and_1_for_equal_texts(one, other):
    assert 0 <= fuzzy_ratio(one, other) <= 1
    assert fuzzy_ratio(one, one) == 1


def test_the_threshold_makes_it_a_match_or_none():
    turns = [turn("abcd", "abce"), turn("abcd", "wxyz", "abcd efg")]

    assert fuzzy(threshold=0.85).observe(turns) == [1.0, 1.0]
    assert fuzzy(threshold=0.9).observe(turns) == [0.0, 1.0]
    assert fuzzy(threshold=fuzzy_ratio("abcd", "abce")).observe(turns) == [1.0, 1.0]
    assert fuzzy(threshold=0).observe([turn("abcd", "wxyz")]) == [1.0]
    assert fuzzy(threshold=1).observe(turns) == [0.0, 1.0]
    assert fuzzy(threshold=None).observe(turns) == [pytest.approx(6 / 7), 1.0]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, 80.0, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold"):
        fuzzy(threshold=threshold)


def test_the_signature_names_the_threshold():
    assert fuzzy().signature == "fuzzy:partial+squad+max|threshold:0.8|declining:default"
    assert fuzzy(threshold=None).signature == "fuzzy:partial+squad+max|threshold:none|declining:default"
