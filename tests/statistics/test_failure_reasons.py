from __future__ import annotations

from replay.statistics.run_numbers import FailedTurns, failure_reasons
from tests.data_tables import from_table


def failed(
    error: str | None, turns: int = 1, *, system: str = "s", outcome: str = "bad-reply", depth: int = 1
):
    return FailedTurns(system, outcome, error, turns, "pred", "talk", depth)


@from_table
def test_what_changes_from_ask_to_ask_makes_no_reason_of_its_own(one, other):
    (reason,) = failure_reasons([failed(one, 2, depth=3), failed(other, 5)])

    assert (reason.reason, reason.turns, reason.wordings, reason.depth) == (one, 7, 2, 3)


@from_table
def test_what_says_something_keeps_reasons_apart(one, other):
    assert [reason.reason for reason in failure_reasons([failed(one), failed(other)])] == [one, other]


def test_reasons_are_apart_by_system_and_outcome_and_the_commonest_is_first():
    found = failure_reasons(
        [
            failed("down", 1),
            failed("down", 3, system="t"),
            failed("down", 3, outcome="refused"),
            failed(None, 4),
        ]
    )

    assert [(one.system, one.outcome, one.reason, one.turns) for one in found] == [
        ("s", "bad-reply", None, 4),
        ("t", "bad-reply", "down", 3),
        ("s", "refused", "down", 3),
        ("s", "bad-reply", "down", 1),
    ]


def test_a_long_word_without_digits_takes_no_time():
    (reason,) = failure_reasons([failed("x" * 200_000)])

    assert reason.wordings == 1
