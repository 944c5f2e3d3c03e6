from __future__ import annotations

import pytest

from replay.statistics.failure_reasons import FailedTurns, failure_reasons


def failed(
    error: str | None, turns: int = 1, *, system: str = "s", outcome: str = "bad-reply", depth: int = 1
):
    return FailedTurns(system, outcome, error, turns, "pred", "talk", depth)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("request req_011CSHoEeqs5C35K failed", "request req_9912XYaBcDeFgHiJ failed"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-ffff-12d3-a456-426614174abc"),
        ("no answer within 3.02 s", "no answer within 12 s"),
        ("try again in 840ms", "try again in 1.5s"),
        ("at 2026-01-02T03:04:05.123Z", "at 2026-11-22 10:50:03+00:00"),
        ("from port 54321", "from port 60999"),
        ("since 1732272000.25", "since 1732279999.5"),
        ("<Socket object at 0x7f3a>", "<Socket object at 0x55bd1>"),
    ],
)
def test_what_changes_from_ask_to_ask_makes_no_reason_of_its_own(one, other):
    (reason,) = failure_reasons([failed(one, 2, depth=3), failed(other, 5)])

    assert (reason.reason, reason.turns, reason.wordings, reason.depth) == (one, 7, 2, 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP 500", "HTTP 503"),
        ("turn 3 is missing", "turn 4 is missing"),
        ("the context has 8192 tokens", "the context has 4096 tokens"),
        ("model gpt-4o is unknown", "model gpt-4o-mini is unknown"),
        ("field invalid_parameter_1", "field invalid_parameter_2"),
        ("no such user", "no such user "),
    ],
)
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
