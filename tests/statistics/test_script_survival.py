"""How far the recorded script carries."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from replay.core.drift_evidence import Drift
from replay.core.record import TurnRecord
from replay.statistics.group import Group
from replay.statistics.recorded import SurvivalRow, script_survival
from tests.scorers.turns import INVALID, VALID, turn

UNJUDGED = Drift(valid=None, mentions=(), mode="strict", not_judged="not English")


def play(conversation: str, *verdicts: Drift | None, **changes: object) -> list[TurnRecord]:
    spot = {"system": "bot", "policy": "pred", "conversation": conversation, **changes}
    return [turn("yes", "yes", drift=drift, depth=depth, **spot) for depth, drift in enumerate(verdicts, 1)]


def rows_of(*plays: list[TurnRecord]) -> tuple[SurvivalRow, ...]:
    (one,) = script_survival([record for records in plays for record in records])
    assert one.group == Group("bot", "pred")
    return one.rows


def shares(rows: tuple[SurvivalRow, ...]) -> list[tuple[int, int, int, float]]:
    return [(row.depth, row.at_risk, row.broken, row.value) for row in rows]


def test_a_script_that_broke_once_never_fits_again() -> None:
    rows = rows_of(play("a", VALID, INVALID, VALID, INVALID), play("b", VALID, VALID, VALID, VALID))
    assert shares(rows) == [(1, 2, 0, 1.0), (2, 2, 1, 0.5), (3, 1, 0, 0.5), (4, 1, 0, 0.5)]


def test_what_ends_early_leaves_the_count_without_breaking() -> None:
    """Kaplan and Meier by hand: of 4 one breaks at depth 2, of the 2 that are left at depth 4 one."""
    plays = (
        play("a", VALID, INVALID),
        play("b", VALID, VALID),
        play("c", VALID, VALID, VALID, INVALID),
        play("d", VALID, VALID, VALID, VALID),
    )
    assert shares(rows_of(*plays))[1:] == [(2, 4, 1, 0.75), (3, 2, 0, 0.75), (4, 2, 1, 0.375)]


def test_a_question_without_a_verdict_ends_what_is_known() -> None:
    rows = rows_of(play("a", VALID, UNJUDGED, INVALID), play("b", VALID, VALID, VALID))
    assert shares(rows)[2] == (3, 1, 0, 1.0)


def test_where_nothing_ends_early_the_interval_is_wilsons() -> None:
    plays = [play(f"c{n}", VALID, INVALID if n < 3 else VALID) for n in range(10)]
    second = rows_of(*plays)[1]
    ends = binomtest(7, 10).proportion_ci(method="wilson")
    assert (second.low, second.high) == (pytest.approx(ends.low), pytest.approx(ends.high))


def test_plays_of_one_conversation_are_one_case() -> None:
    once = rows_of(*(play(f"c{n}", VALID, INVALID if n < 2 else VALID) for n in range(4)))
    thrice = rows_of(
        *(
            play(f"c{n}~{k}", VALID, INVALID if n < 2 else VALID, source=f"c{n}", repeat=k)
            for n in range(4)
            for k in (1, 2, 3)
        )
    )
    assert [(row.value, row.low, row.high) for row in thrice] == [
        (row.value, pytest.approx(row.low), pytest.approx(row.high)) for row in once
    ]


def test_one_conversation_has_no_interval_and_gold_no_row() -> None:
    assert rows_of(play("a", VALID, VALID))[1].low is None
    assert script_survival(play("a", None, None)) == ()


def test_the_order_of_records_makes_no_difference() -> None:
    records = play("a", VALID, INVALID) + play("b", VALID, VALID, INVALID)
    assert script_survival(records) == script_survival(records[::-1])
