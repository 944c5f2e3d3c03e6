"""What judging took, and how a reader is told."""

from __future__ import annotations

import pytest

from replay.core.adapter import ChatReply
from replay.core.asking.tally import AskTally
from replay.core.errors import AdapterTimeoutError
from replay.core.record import Usage
from replay.scorers.judges.tally import FlagCount, JudgeSummary, Spread, remarks, spread_of


def replied(*usages: Usage | None, cost_usd: float | None = None) -> AskTally:
    tally = AskTally()
    for usage in usages:
        tally.replied(ChatReply(text="Yes", usage=usage), cost_usd)
    return tally


def test_nothing_is_counted_before_anything_is_asked():
    counts = ("verdicts", "unscored", "asks", "retries", "failed_asks", "cached", "prompt_tokens")
    counts += ("completion_tokens", "uncounted")

    assert [getattr(AskTally(), name) for name in counts] == [0] * len(counts)
    assert (AskTally().cost_usd, AskTally().first_failure, AskTally().problems) == (None, None, [])


@pytest.mark.parametrize(
    ("usages", "counts"),
    [
        ([None], (0, 0, 1)),
        ([Usage()], (0, 0, 1)),
        ([Usage(prompt_tokens=3)], (3, 0, 0)),
        ([Usage(completion_tokens=2)], (0, 2, 0)),
        ([Usage(prompt_tokens=3, completion_tokens=2), Usage(prompt_tokens=4), None], (7, 2, 1)),
        ([None, None], (0, 0, 2)),
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


def test_the_spread_by_hand():
    """Two turns, two repeats: 1, 3 and 2, 2; means 1.5 and 2.5, so 1 / sqrt(2), and sqrt(2) within one."""
    assert spread_of([[1.0, 3.0], [2.0, 2.0], [None, None]]) == Spread(
        turns=2,
        means=(1.5, 2.5),
        std=pytest.approx(0.5**0.5),
        low=1.5,
        high=2.5,
        turn_std=pytest.approx(2**0.5 / 2),
    )


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
