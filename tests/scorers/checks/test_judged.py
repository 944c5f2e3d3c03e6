"""What a judge's number is held against, with numbers given by the test."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from replay.scorers.checks.check import CheckOutcome
from tests.scorers.checks.looking import look

AT_LEAST = {"name": "coherence", "at_least": 3}


@dataclass(frozen=True)
class Numbers:
    """A judge's numbers: one for each turn, or one for the conversation."""

    values: tuple[float, ...]

    def scores(self, column, records):
        return list(self.values)

    def rubric(self, judge, seen):
        raise AssertionError("no rubric is asked for")


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((3.0, 4.0), CheckOutcome(passed=True, evidence="coherence 3, 4")),
        ((2.0, 4.0), CheckOutcome(passed=False, evidence="coherence 2; expected at least 3")),
        ((3.5,), CheckOutcome(passed=True, evidence="coherence 3.5")),
    ],
)
def test_each_number_is_within_bounds(values, found):
    assert look("judge", AT_LEAST, "Hello.", "Bye.", verdicts=Numbers(values)) == found


def test_a_low_number_of_a_whole_conversation_may_lack_what_was_skipped():
    """Of a turn it lacks nothing: that turn was answered."""
    assert look("judge", AT_LEAST, "Hello.", "Bye.", verdicts=Numbers((2.0,))).lacking
    assert not look("judge", AT_LEAST, "Hello.", "Bye.", verdicts=Numbers((2.0, 2.0))).lacking
    assert not look("judge", AT_LEAST, "Hello.", verdicts=Numbers((2.0,))).lacking
