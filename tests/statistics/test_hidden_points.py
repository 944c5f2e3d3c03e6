"""What recorded answers hide, and what is given back."""

from __future__ import annotations

import pytest

from replay.core.record import TurnRecord
from replay.scorers.operational import latency
from replay.scorers.word_overlap import em
from replay.statistics.paired import HiddenPoints, hidden_points, policy_gaps
from replay.statistics.score_column import score_columns
from tests.scorers.turns import turn

GOLD = "a harbour"


def asked(policy: str, right: int, *, turns: int = 10, system: str = "bot") -> list[TurnRecord]:
    """*turns* conversations of one turn, of which the first *right* are answered right."""
    return [
        turn(GOLD if n < right else "a mill", GOLD, system=system, policy=policy, conversation=f"c{n:02}")
        for n in range(turns)
    ]


def hidden(*records: TurnRecord, scorer=em) -> tuple[HiddenPoints, ...]:
    columns = score_columns(records, {"latency": latency(), "em": scorer()})
    return hidden_points(policy_gaps(records, columns, resamples=50), records, columns, resamples=50)


def test_the_gap_and_what_is_given_back_are_differences_on_the_same_turns():
    (one,) = hidden(*asked("gold", 8), *asked("pred", 5), *asked("rewrite", 6, turns=7), *asked("replace", 7))

    assert one.gap.total.value == pytest.approx(-0.3)
    assert one.given_back["replace"].total.value == pytest.approx(0.2)
    assert one.given_back["rewrite"].total.value == pytest.approx(1 / 7), "of seven turns, six against five"


def test_without_gold_or_pred_nothing_is_said():
    assert hidden(*asked("gold", 8), *asked("rewrite", 5)) == ()
    assert hidden(*asked("pred", 8), *asked("rewrite", 5)) == ()


def test_policies_that_mend_no_question_give_nothing_back():
    (one,) = hidden(*asked("gold", 8), *asked("pred", 5), *asked("filter", 6))

    assert one.given_back == {}


def test_each_system_is_compared_with_itself():
    one, other = hidden(
        *asked("gold", 8, system="a"),
        *asked("pred", 5, system="a"),
        *asked("gold", 8, system="b"),
        *asked("pred", 2, system="b"),
        *asked("replace", 3, system="b"),
    )

    assert (one.gap.total.value, one.given_back) == (pytest.approx(-0.3), {})
    assert (other.gap.total.value, *other.given_back) == (pytest.approx(-0.6), "replace")


def test_a_run_without_a_share_says_nothing():
    assert hidden(*asked("gold", 8), *asked("pred", 5), scorer=latency) == ()
