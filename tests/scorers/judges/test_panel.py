"""
Votes, repeats, cases and what they take.

What judging took, and how a reader is told.
"""

from __future__ import annotations

import re

import msgspec
import pytest

from replay.core.adapter import ChatReply
from replay.core.asking.costs import AskTally
from replay.core.errors import AdapterTimeoutError
from replay.core.record import Usage
from replay.scorers.judges.judging import cases, estimate
from replay.scorers.judges.panel import count_votes
from replay.scorers.judges.tally import FlagCount, JudgeSummary, Spread, remarks, spread_of
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
        ("mean", [Unscored(reason="other"), NO, NO], NO),
        ("mean", [0.0, 0.0], 0.0),
    ],
)
def test_votes_become_one_value(voting, votes, result):
    assert count_votes(voting, votes) == result


def test_the_spread_of_repeats():
    """Two turns, three repeats: means 0.5, 1 and 0.5; the third turn lacks a value."""
    spread = spread_of([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, None, 1.0]])

    assert spread is not None
    assert (spread.turns, spread.means, spread.low, spread.high) == (2, (0.5, 1.0, 0.5), 0.5, 1.0)
    assert spread.std == pytest.approx(0.288675, abs=1e-6)
    assert spread.turn_std == pytest.approx(0.577350, abs=1e-6)
    assert [spread_of(repeats) for repeats in ([], [[1.0], [0.0]], [[1.0, None]])] == [None] * 3


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


@pytest.mark.parametrize(
    ("kind", "completion_tokens"), [("correctness", 1), ("factual", 120), ("claims", 200)]
)
def test_an_estimate_takes_four_characters_for_a_token(kind, completion_tokens):
    one = panel(kind, adapter="scripted", prices={"prompt_usd": 2, "completion_usd": 3}, repeats=3)
    first, *_ = one.judge.plan(case(2))
    guessed = estimate(one, [case(2)], settled=4)

    assert (guessed.name, guessed.cases, guessed.settled, guessed.cached) == (kind, 1, 4, 0)
    assert guessed.asks == 3
    assert guessed.asks_at_most == 3 * len(one.judge.plan(case(2)))
    assert guessed.prompt_tokens == 3 * round(len(first.prompt) / 4)
    assert guessed.completion_tokens == 3 * completion_tokens
    assert guessed.cost_usd == pytest.approx((2 * guessed.prompt_tokens + 9 * completion_tokens) / 1e6)


async def test_after_judging_with_generated_steps_an_estimate_knows_that_all_is_there(tmp_path):
    """The ratings' prompts hold the steps that the judge wrote, so they are known once those are kept."""
    (tmp_path / "own.yaml").write_text("- {name: one, definition: Is it one}\n- {name: two, definition: Two}")
    shared = {"mode": "single", "criteria_file": "own.yaml", "cache": "kept.db", "repeats": 2}
    async with judge_server(lambda prompt, number: "1. Read it." if "steps" in prompt else "4") as server:
        built = panel("geval", tmp_path, **server.settings(), **shared)
        before = estimate(built, [case(1), case(2)], settled=0)
        _, tally = await judge(built, [case(1), case(2)])
        after = estimate(built, [case(1), case(2)], settled=0)
        more = estimate(built, [case(1), case(2), case(3)], settled=0)

    assert (before.asks, before.cached) == (tally.asks, 0) == (2 + 2 * 2 * 2, 0)
    assert (after.asks, after.asks_at_most, after.cached) == (0, 0, 10)
    assert (more.asks, more.cached) == (4, 10)


def test_a_case_whose_prompt_cant_be_filled_in_takes_nothing(tmp_path):
    (tmp_path / "own.txt").write_text("{{ golds[1].strip() }} {{ predicted }}")
    built = panel("correctness", tmp_path, adapter="scripted", prompt="own.txt")

    assert estimate(built, [case(1), case(2)], settled=0).asks_at_most == 1


def test_one_voter_without_prices_makes_the_cost_unknown():
    priced = {"adapter": "scripted", "prices": {"prompt_usd": 1, "completion_usd": 1}}
    voters = [priced, {"adapter": "scripted", "name": "other"}]

    assert estimate(panel("correctness", voters=voters), [case(1)], settled=0).cost_usd is None
    assert estimate(panel("correctness", voters=voters[:1]), [case(1)], settled=0).cost_usd > 0


async def test_progress_is_told_and_cases_without_any_value_are_counted():
    told = []
    async with judge_server(lambda prompt, number: "Yes" if number == 1 else "Hm") as server:
        built = panel("correctness", **server.settings(), concurrency=1)
        _, tally = await judge(built, [case(1), case(2), case(3, *ANSWERS[:2], None)], told=told.append)

    assert told == [1, 2]
    assert (tally.verdicts, tally.unscored) == (2, 1)


def test_voters_votes_and_repeats_are_in_the_signature():
    voters = [{"adapter": "scripted", "name": name} for name in ("one voter", "two")]
    alone, many = panel("correctness", voters=voters[:1]), panel("claims", voters=voters, repeats=2)

    assert re.fullmatch(
        r"correctness:prompt=[0-9a-f]{12}\|max_tokens=16,temperature=0\|by:one_voter@[0-9a-f]{12}"
        r"\+own-parameters\|repeats:1",
        alone.signature,
    )
    assert re.search(r"\|by:one_voter@\S+\+two@\S+\|votes:mean\|repeats:2$", many.signature)
    assert list(many.columns) == ["claims.recall", "claims.precision", "claims.f1"]
    assert list(alone.columns) == ["correctness"]


def test_cases_are_told_apart_by_conversation_system_and_policy():
    """By depth within each; a dialogue is judged with all of its turns."""
    others = [msgspec.structs.replace(r, policy="gold") for r in records(*ANSWERS)]
    histories = {"s": {"gold": "gold"}, "t": {"pred": "gold"}}
    found = cases("dialogue", [*records(*ANSWERS), *others], {"c1": TALK}, histories)

    assert [(c.record.policy, len(c.records), c.history_shown) for c in found] == [
        ("pred", 3, "own"),
        ("gold", 3, "gold"),
    ]
    turns = cases("turn", others[::-1], {"c1": TALK}, histories)
    assert [[r.depth for r in c.records] for c in turns] == [[1], [1, 2], [1, 2, 3]]
    assert {c.history_shown for c in turns} == {"gold"}


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


def replied(*usages: Usage | None, cost_usd: float | None = None) -> AskTally:
    tally = AskTally()
    for usage in usages:
        tally.replied(ChatReply(text="Yes", usage=usage), cost_usd)
    return tally


@pytest.mark.parametrize(
    ("usages", "counts"),
    [
        ([], (0, 0, 0)),
        ([Usage()], (0, 0, 1)),
        ([Usage(prompt_tokens=3)], (3, 0, 0)),
        ([Usage(prompt_tokens=3, completion_tokens=2), Usage(prompt_tokens=4), None], (7, 2, 1)),
    ],
)
def test_tokens_are_added_up_as_far_as_they_are_known(usages, counts):
    tally = replied(*usages)

    assert (tally.prompt_tokens, tally.completion_tokens, tally.uncounted) == counts


def test_costs_add_up_and_a_price_of_nothing_is_a_price():
    assert replied(None, None, cost_usd=0.25).cost_usd == 0.5
    assert replied(None, cost_usd=0.0).cost_usd == 0.0
    assert replied(None).cost_usd is None


def test_an_attempt_after_the_first_is_a_retry_and_only_the_last_failure_counts():
    tally = AskTally()
    for attempt in (1, 2, 3):
        tally.sent(attempt)
    tally.failed(1, AdapterTimeoutError("slow"), pause_s=0.0)
    tally.failed(2, AdapterTimeoutError("slower"), pause_s=None)
    tally.gave_up("later")

    assert (tally.asks, tally.retries, tally.failed_asks, tally.first_failure) == (3, 2, 2, "slower")


def said(spread: dict[str, Spread] | None = None, **counts) -> list[str]:
    judged = JudgeSummary(name="j", signature="s", units={}, tally=AskTally(**counts), spread=spread or {})
    return remarks([judged])


@pytest.mark.parametrize(
    ("counts", "sentences"),
    [
        ({}, ["0 asks sent."]),
        ({"asks": 1}, ["1 ask sent."]),
        (
            {"asks": 1234, "retries": 2000, "cached": 3000},
            ["1,234 asks sent, 2,000 of them retries, 3,000 replies reused."],
        ),
        ({"asks": 2, "prompt_tokens": 1500}, ["2 asks sent, 1,500 prompt and 0 completion tokens."]),
        ({"asks": 2, "completion_tokens": 7}, ["2 asks sent, 0 prompt and 7 completion tokens."]),
        ({"asks": 2, "uncounted": 1001}, ["2 asks sent, 1,001 replies without a token count."]),
        ({"asks": 2, "cost_usd": 0.0}, ["2 asks sent, 0.0000 US dollars."]),
        (
            {"asks": 2, "failed_asks": 1, "first_failure": "a\n b"},
            ["2 asks sent.", "1 ask failed, the first one: a b"],
        ),
        (
            {"asks": 2, "failed_asks": 2, "first_failure": "x" * 301},
            ["2 asks sent.", f"2 asks failed, the first one: {'x' * 300}"],
        ),
        ({"problems": ["The cache is full."]}, ["0 asks sent.", "The cache is full."]),
    ],
)
def test_a_reader_is_told_in_sentences(counts, sentences):
    assert said(**counts) == [f"judge j: {sentence}" for sentence in sentences]


@pytest.mark.parametrize(
    ("times", "turns", "how"), [(1, 1, "1 time in 1 turn"), (1200, 2, "1,200 times in 2 turns")]
)
def test_what_was_doubtful_is_told_with_its_count_and_one_turn(times, turns, how):
    judged = JudgeSummary(
        name="j",
        signature="s",
        units={},
        flags={"a flag": FlagCount(times=times, turns=turns, first='turn 3 of "c"')},
    )

    assert remarks([judged])[1] == f'judge j: a flag: {how}, the first one turn 3 of "c".'


def test_repeats_are_summed_up():
    spread = Spread(turns=1200, means=(0.25, 0.75), std=0.3536, low=0.25, high=0.75, turn_std=0.5)

    assert said({"j": spread})[1] == (
        "judge j: 2 repeats of j over 1,200 turns: mean 0.5, from 0.25 to 0.75, standard deviation 0.35; "
        "0.5 within a turn."
    )
