"""What a level's numbers are worth, in words, and the small parts that they are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from replay.core.load_record import GeneratorReport, LagSummary, LatenessSummary, LevelPlayed
from replay.statistics.group import Group
from replay.statistics.load.asks import Asks, time_series
from replay.statistics.load.load_cell import (
    CountedDurations,
    KeptDurations,
    LoadCell,
    LoadTally,
    Percentiles,
    asks_needed,
    percentiles,
)
from replay.statistics.load.load_findings import duration, level_warnings
from replay.statistics.load.load_level import LevelSummary, Rates, goodput, tokens_from
from replay.statistics.load.load_summary import Knee, load_summary

PLAYED = LevelPlayed(
    index=0,
    name="concurrency 1",
    value=1.0,
    began_s=0.0,
    measured_from_s=0.0,
    measured_to_s=10.0,
    ended_s=10.0,
)
NO_RATES = Rates(
    conversations_due=None,
    turns_due=None,
    attempts=None,
    turns_answered=None,
    conversations_ended=None,
    tokens=None,
)


def taking(p50_s: float, p99_s: float | None = None) -> Percentiles:
    most = p50_s if p99_s is None else p99_s
    return Percentiles(
        count=1, mean_s=p50_s, p50_s=p50_s, p90_s=p50_s, p95_s=p50_s, p99_s=most, p99_9_s=most, max_s=most
    )


def told(
    total: dict[str, Any] | None = None, lateness: Percentiles | None = None, **played: Any
) -> list[str]:
    """What is said of a level with a thousand good answers of a second each, but for what is given."""
    cell = {"turns": 1000, "outcomes": {"answered": 1000}, "latency": taking(1.0), **(total or {})}
    level = LevelSummary(
        played=replace(PLAYED, **played),
        warm_up_turns=0,
        rates=NO_RATES,
        tokens_from=None,
        total=LoadCell(**cell),
        groups=(),
        goodput=None,
        errors=(),
        lateness=lateness,
    )
    return list(level_warnings(level))


def generators(*several: dict[str, Any]) -> dict[str, Any]:
    """Those of a level, on hosts a, b and so on."""
    found = (
        GeneratorReport(number=number, host="abc"[number], conversations=1, **one)
        for number, one in enumerate(several)
    )
    return {"generators": tuple(found)}


def lag(p99_s: float) -> dict[str, Any]:
    return {"lag": LagSummary(samples=9, p50_s=0.0, p99_s=p99_s, max_s=p99_s)}


def late(p99_s: float) -> dict[str, Any]:
    return {"lateness": LatenessSummary(asks=9, p50_s=0.0, p99_s=p99_s, max_s=p99_s)}


def test_of_a_level_without_anything_odd_nothing_is_said():
    assert told() == []


@pytest.mark.parametrize(
    ("given", "beginning"),
    [
        (
            {"stopped": "the system failed", "interrupted": True},
            "the system failed. The numbers are those of the",
        ),
        ({"interrupted": True}, "interrupted: the numbers are those of the part that was played."),
        ({"total": {"turns": 0, "outcomes": {}, "latency": None}}, "no turn was due in the measured window"),
        (
            generators(lag(0.101)),
            "the generator's event loop lagged by 101 ms (p99), more than 10% of the median "
            "latency (1 s); latencies",
        ),
        ({"delayed": 1}, "1 arrival had to wait"),
        ({"delayed": 2000}, "2,000 arrivals had to wait"),
        (
            {"total": {"turns": 1, "outcomes": {"answered": 1}}},
            "1 answer only; a percentile means something with "
            "ten answers beyond it, which takes: p50 20, p90 100, p95 200, p99 1,000, p99.9 10,000.",
        ),
        (
            {"total": {"turns": 999, "outcomes": {"answered": 999}}},
            "999 answers only; a percentile means something "
            "with ten answers beyond it, which takes: p99 1,000, p99.9 10,000.",
        ),
        (
            {"total": {"turns": 100, "outcomes": {"answered": 100}}},
            "100 answers only; a percentile means something "
            "with ten answers beyond it, which takes: p95 200, p99 1,000, p99.9 10,000.",
        ),
        ({"total": {"retried": 1}}, "1 turn took more than one attempt"),
        ({"total": {"retried": 2000}}, "2,000 turns took more than one attempt"),
        ({"total": {"outcomes": {"answered": 1000, "cut-off": 1}}}, "1 turn cut off in the middle"),
        ({"total": {"tallied": 2, "turns": 1002}}, "2 turns of 1,002 kept only as counts"),
        (
            {"lateness": taking(0.002, 0.102)},
            "the generator was late: asks were sent 2 ms (p50) to 102 ms (p99)",
        ),
        (
            {"lateness": taking(0.0, 0.011), "total": {"latency": None}},
            "the generator was late: asks were sent 0 ms",
        ),
        (
            {**generators(late(0.01), late(0.2), {}), "lateness": taking(0.0, 0.02)},
            "generator 2 of 3 (b) was late: asks were sent 0 ms (p50) to 200 ms (p99)",
        ),
        (generators(lag(0.0), lag(0.101)), "generator 2 of 2 (b)'s event loop lagged by 101 ms (p99)"),
        (generators({**lag(0.0), "busy": 0.91}), "the generator was busy for 91% of the time"),
        (
            generators({**lag(0.0), "busy": 1.3}, {**lag(0.0), "busy": 0.2}),
            "generator 1 of 2 (a) was busy for 100% of the time",
        ),
    ],
)
def test_what_is_odd_is_told_in_one_sentence(given, beginning):
    (said,) = told(**given)

    assert said.startswith(beginning)


@pytest.mark.parametrize(
    "given",
    [
        generators(lag(0.1)),
        {**generators(lag(9.0)), "total": {"latency": None}},
        generators(late(0.1), late(0.1)),
        {**generators(late(9.0)), "lateness": taking(0.0, 0.1)},
        generators({**lag(0.0), "busy": 0.9}),
        generators({"busy": 4.0}),
        {"lateness": taking(0.0, 0.1)},
        {"lateness": taking(0.0, 0.01), "total": {"latency": taking(0.02)}},
        {"total": {"turns": 3, "outcomes": {"refused": 3}}},
    ],
)
def test_up_to_its_limit_nothing_is_odd(given):
    assert told(**given) == []


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0005, "0.5 ms"), (0.9994, "999 ms"), (1.0, "1 s"), (12.345, "12.3 s")]
)
def test_durations_are_said_with_three_digits(seconds, said):
    assert duration(seconds) == said


def test_ten_answers_lie_beyond_a_percentile():
    assert [asks_needed(share) for share in (0.5, 0.9, 0.95, 0.99, 0.999)] == [20, 100, 200, 1000, 10_000]
    assert asks_needed(0.3) == 15


def test_of_no_durations_there_is_nothing_to_say():
    kept, counted = KeptDurations(np.array([np.nan])), CountedDurations({}, 0.5)

    for nothing in (kept, counted):
        assert (nothing.count, nothing.quantiles([0.5]), nothing.mean_s()) == (0, None, None)
        assert percentiles(nothing) is None


def test_durations_are_summed_up_by_hand():
    """1, 2, 2 and 3 half seconds; at 90 % between the last two, 0.7 of the way."""
    kept = KeptDurations(np.array([1.5, np.nan, 0.5, 1.0, 1.0]))
    for durations in (kept, CountedDurations({2: 2, 3: 1, 1: 1}, 0.5)):
        found = percentiles(durations)
        assert (found.count, found.mean_s, found.p50_s, found.max_s, found.exact) == (4, 1.0, 1.0, 1.5, True)
        assert found.p90_s == pytest.approx(1.35)
        assert found.p99_9_s == pytest.approx(1.4985)


# Where the limit is --------------------------------------------------------------------------------------


def some_asks(count: int = 0, **columns: Any) -> Asks:
    """Answered asks of a second each, due one after the other, of one level and conversation."""
    moments = np.arange(float(count))
    whole: dict[str, Any] = {
        "scheduled_s": moments,
        "sent_s": moments,
        "first_token_s": moments + 0.5,
        "last_token_s": moments + 0.9,
        "done_s": moments + 1.0,
        "outcome": np.zeros(count, dtype=np.int64),
        "depth": np.arange(1, count + 1),
        "attempts": np.ones(count, dtype=np.int64),
        "asks": np.ones(count, dtype=np.int64),
        "server_s": np.full(count, np.nan),
        "tokens": np.full(count, -1),
        "tokens_are_pieces": np.zeros(count, dtype=np.bool_),
        "group": np.zeros(count, dtype=np.int64),
        "conversation": np.zeros(count, dtype=np.int64),
        "recorded": np.zeros(count, dtype=np.int64),
        "level": np.zeros(count, dtype=np.int64),
        "measured": np.ones(count, dtype=np.bool_),
    }
    return Asks(**{**whole, **columns}, groups=(Group("s", "pred"),), recorded_count=1)


def knee(*levels: tuple[float | None, bool | None]) -> Knee | None:
    played = [
        replace(PLAYED, index=n, name=f"level {value}", value=value, met=met)
        for n, (value, met) in enumerate(levels)
    ]
    return load_summary(some_asks(), played, load={}).knee


@pytest.mark.parametrize(
    ("levels", "limit"),
    [
        ([], None),
        ([(1.0, None)], None),
        ([(None, True)], None),
        ([(1.0, True), (2.0, False)], (1.0, "level 2.0")),
        ([(2.0, False), (1.0, True)], (1.0, "level 2.0")),
        ([(1.0, True), (2.0, True)], (2.0, None)),
        ([(1.0, False), (2.0, True)], (None, "level 1.0")),
        ([(1.0, True), (2.0, False), (3.0, True)], (1.0, "level 2.0")),
        ([(1.0, True), (2.0, False), (2.0, True)], (2.0, None)),  # met when it was played again
        ([(1.0, True), (2.0, True), (2.0, False)], (2.0, None)),
        ([(1.0, True), (3.0, False), (2.0, False)], (1.0, "level 2.0")),
    ],
)
def test_the_limit_is_the_highest_level_below_the_first_that_missed(levels, limit):
    found = knee(*levels)

    assert (None if found is None else (found.value, found.missed)) == limit
    assert found is None or found.level == (None if found.value is None else f"level {found.value}")


def test_an_ask_that_takes_just_as_long_as_it_may_is_good():
    asks = some_asks(3, done_s=np.array([1.0, 2.0, 3.5]))
    found = goodput(asks, np.arange(3), {"latency": 1.0}, PLAYED)

    assert (found.good, found.asks, found.share, found.per_s) == (2, 3, 2 / 3, 0.2)
    assert goodput(asks, np.arange(3), {}, PLAYED) is None
    assert goodput(asks, np.arange(0), {"latency": 1.0}, PLAYED).share is None
    window = replace(PLAYED, measured_to_s=0.0)
    assert goodput(asks, np.arange(3), {"latency": 1.0}, window).per_s is None


@pytest.mark.parametrize(
    ("tokens", "pieces", "source"),
    [
        ([-1], [False], None),
        ([0], [False], "usage"),
        ([0, -1], [True, False], "pieces"),
        ([3, 0], [True, False], "usage and pieces"),
    ],
)
def test_an_answer_of_no_tokens_was_counted(tokens, pieces, source):
    count = len(tokens)
    asks = some_asks(count, tokens=np.array(tokens), tokens_are_pieces=np.array(pieces))

    assert tokens_from(asks, np.arange(count)) == source


def test_a_window_takes_in_its_beginning_and_leaves_out_its_end():
    asks = some_asks(3, tokens=np.array([0, 5, 7]))  # done at 1, 2 and 3
    window = replace(PLAYED, measured_from_s=1.0, measured_to_s=3.0)
    (found,) = load_summary(asks, [window], load={}).levels
    assert (window.delayed, window.interrupted, window.goals) == (0, False, ())

    assert (found.rates.turns_answered, found.rates.tokens, found.rates.conversations_ended) == (
        1.0,
        2.5,
        0.0,
    )
    assert (found.rates.turns_due, found.rates.attempts, found.rates.conversations_due) == (1.5, 1.5, 0.5)


def test_the_course_over_time_begins_with_the_bucket_of_the_first_ask():
    series = time_series(
        some_asks(
            4,
            scheduled_s=np.array([23.5, 25.0, 26.0, 29.0]),
            sent_s=np.array([24.0, 25.0, 26.0, 29.0]),
            first_token_s=np.full(4, np.nan),
            done_s=np.array([25.0, 26.0, 26.5, 31.0]),
        ),
        bucket_s=5,
    )

    assert (series.bucket_s, series.start_s) == (5.0, (20.0, 25.0, 30.0))
    assert (series.sent, series.done, series.errors) == ((1, 3, 0), (0, 3, 1), (0, 0, 0))
    assert series.latency_p50_s == (None, 1.0, 2.0)
    assert series.latency_p99_s == (None, 1.0, 2.0)
    assert series.response_p99_s == (None, pytest.approx(1.49), 2.0)
    assert series.ttft_p50_s == (None, None, None)
    assert series.open_conversations == pytest.approx((0.3, 1.0, 0.2))
    assert time_series(some_asks()) is None


@pytest.mark.parametrize(
    "step_s", [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400]
)
def test_each_step_is_taken_up_to_three_hundred_buckets(step_s):
    just = some_asks(2, done_s=np.array([1.0, 299.5 * step_s]))
    more = some_asks(2, done_s=np.array([1.0, 300.0 * step_s]))

    assert time_series(just).bucket_s == step_s
    assert len(time_series(just).start_s) == 300
    assert time_series(more).bucket_s > step_s


def test_what_was_only_tallied_counts_in_the_rates_by_its_outcome_and_depth():
    """And depths come in order."""
    tallies = [
        LoadTally(level=0, group=0, depth=8, turns=3, outcomes={"refused": 3}, durations={}),
        LoadTally(level=0, group=0, depth=1, turns=4, outcomes={"answered": 4}, durations={}),
        LoadTally(level=1, group=0, depth=1, turns=9, outcomes={"answered": 9}, durations={}),
    ]
    (found,) = load_summary(some_asks(2), [PLAYED], load={}, tallies=tallies).levels

    assert (found.rates.turns_answered, found.rates.turns_due, found.rates.attempts) == (0.6, 0.9, 0.9)
    assert (found.rates.conversations_due, found.rates.conversations_ended, found.rates.tokens) == (
        0.5,
        None,
        None,
    )
    assert (found.total.turns, found.total.tallied, found.total.outcomes) == (
        9,
        7,
        {"answered": 6, "refused": 3},
    )
    assert list(found.groups[0].depths) == [1, 2, 8]
    assert found.groups[0].depths[8].error_share == 1.0
