"""What of a gold answer is put before the next question."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.policies.augment import lead_in
from tests.data_tables import from_table


@from_table
def test_a_short_clause(answer, expected):
    assert lead_in(answer, 12) == expected


def test_what_has_no_end_of_a_clause_is_broken_off_with_dots():
    assert lead_in("a list of the names of many old friends", 5) == "A list of the names ... "


@pytest.mark.parametrize(
    "answer",
    [None, "", "  ", "CANNOTANSWER", "I don't know.", "Unknown", "Yes.", "No, she did not.", "?!", "n/a"],
)
def test_nothing_comes_from_an_answer_that_says_nothing(answer):
    assert lead_in(answer, 12) == ""


@given(st.text(max_size=200), st.integers(1, 20))
def test_never_more_words_than_asked_for(answer, most):
    text = lead_in(answer, most)
    assert len(text.replace(" ... ", " ").split()) <= most
    assert "\n" not in text
    assert not text or text.endswith(" ")
