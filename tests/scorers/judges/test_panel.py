"""Votes, repeats, cases and what they take."""

from __future__ import annotations

import pytest

from replay.scorers.judges.dry_run import estimate
from replay.scorers.judges.judging import cases
from replay.scorers.judges.panel import count_votes
from replay.scorers.judges.tally import spread_of
from replay.scorers.scorer import Unscored
from tests.scorers.judges.samples import ANSWERS, TALK, case, judge, panel, records
from tests.scorers.judges.servers import judge_server

NO = Unscored(reason="judge timed-out")


@pytest.mark.parametrize(
    ("voting", "votes", "result"),
    [
        ("majority", [1.0, 1.0, 0.0], 1.0),
        ("majority", [0.0, 0.0, 1.0], 0.0),
        ("majority", [1.0, NO, NO], 1.0),
        ("majority", [1.0, 0.0], Unscored(reason="the voters are evenly split")),
        ("majority", [NO, Unscored(reason="other"), NO], NO),
        ("mean", [4.0, 5.0, NO], 4.5),
        ("mean", [NO], NO),
    ],
)
def test_votes_become_one_value(voting, votes, result):
    assert count_votes(voting, votes) == result


def test_the_spread_of_repeats():
    """Two turns, three repeats: means 0.5, 1 and 0.5; the third turn lacks a value."""
    spread = spread_of([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, None, 1.0]])

    assert spread is not None
    assert spread.turns == 2
    assert spread.means == (0.5, 1.0, 0.5)
    assert (spread.low, spread.high) == (0.5, 1.0)
    assert spread.std == pytest.approx(0.288675, abs=1e-6)
    assert spread.turn_std == pytest.approx(0.577350, abs=1e-6)


def test_no_spread_without_repeats():
    assert spread_of([]) is None
    assert spread_of([[1.0], [0.0]]) is None
    assert spread_of([[1.0, None]]) is None


def test_a_case_per_turn_or_per_conversation():
    found = cases("turn", records(*ANSWERS)[::-1], {"c1": TALK}, {"s": {"pred": "gold"}})

    assert [c.record.depth for c in found] == [1, 2, 3]
    assert {c.history_shown for c in found} == {"gold"}
    (whole,) = cases("dialogue", records(*ANSWERS), {"c1": TALK}, {})
    assert len(whole.records) == 3
    assert whole.history_shown == "own"


async def test_an_estimate_asks_nothing_and_counts_what_will_be_asked(tmp_path):
    prices = {"prompt_usd": 1, "completion_usd": 1}
    async with judge_server("Yes") as server:
        built = panel("correctness", **server.settings(), prices=prices, repeats=2)
        guessed = estimate(built, [case(1), case(2)], settled=1)
        assert server.bodies == []
        _, tally = await judge(built, [case(1), case(2)])

    assert (guessed.cases, guessed.settled) == (2, 1)
    assert guessed.asks == guessed.asks_at_most == tally.asks == 4
    assert 400 < guessed.prompt_tokens < 2000
    assert guessed.cost_usd == pytest.approx((guessed.prompt_tokens + 4) / 1e6)


async def test_an_estimate_knows_the_cache_and_what_may_follow(tmp_path):
    async with judge_server('{"verdict": 1}') as server:
        built = panel("factual", **server.settings(), cache=str(tmp_path / "verdicts.db"))
        before = estimate(built, [case(1), case(1), case(2)], settled=0)
        assert not list(tmp_path.iterdir())
        await judge(built, [case(1)])
        after = estimate(built, [case(1), case(1), case(2)], settled=0)

    assert (before.asks, before.cached) == (2, 1)  # the same question of two cases is asked once
    assert before.asks_at_most > before.asks
    assert (after.asks, after.cached) == (1, 2)
    assert before.cost_usd is None
