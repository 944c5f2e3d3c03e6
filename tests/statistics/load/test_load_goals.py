"""Goals of a load, warnings about its generator, and its course over time."""

from __future__ import annotations

import pytest

from tests.statistics.load.test_load_summary import plays
from tests.statistics.load_runs import ask, generator, level, summarised


def test_goodput_counts_the_asks_that_meet_every_goal_as_the_goals_say(tmp_path):
    slo = {"ttft_p95_s": 0.3, "latency_p99_s": 1.0, "tpot_p50_s": 0.1, "errors": 0.5}
    records = [
        ask(1, 0.9, conversation="good", ttft_s=0.2, tokens=20),
        ask(2, 0.2, conversation="one token", ttft_s=0.2, tokens=1),
        ask(3, 1.1, conversation="slow", ttft_s=0.2, tokens=20),
        ask(4, 0.9, conversation="late token", ttft_s=0.31, tokens=20),
        ask(5, 0.9, conversation="no stream"),
        ask(6, 0.9, conversation="slow tokens", ttft_s=0.2, tokens=4, gaps=(6000,)),
        ask(7, 0.5, conversation="failed", ttft_s=0.1, tokens=20, outcome="cut-off"),
    ]
    found = summarised(tmp_path, records, load={"slo": slo}).levels[0].goodput
    assert found.limits_s == {"ttft": 0.3, "latency": 1.0, "tpot": 0.1}
    assert (found.good, found.asks, found.share, found.per_s) == (2, 7, 2 / 7, 0.2)


def test_without_goals_for_single_asks_there_is_no_goodput(tmp_path):
    assert summarised(tmp_path, [ask(1)], load={"slo": {"errors": 0.1}}).levels[0].goodput is None


@pytest.mark.parametrize(
    ("played", "knee"),
    [
        ([(1, True), (2, True), (4, False)], ("concurrency 2", "concurrency 4")),
        ([(1, True), (4, False), (2, False)], ("concurrency 1", "concurrency 2")),
        ([(1, False)], (None, "concurrency 1")),
        ([(1, True), (2, True)], ("concurrency 2", None)),
        ([(1, True), (2, False), (4, True)], ("concurrency 1", "concurrency 2")),
        ([(1, True), (2, False), (2, True), (4, False)], ("concurrency 2", "concurrency 4")),
    ],
)
def test_the_knee_is_the_highest_level_met_with_none_missed_below(tmp_path, played, knee):
    levels = [
        level(n, 10.0 * n, 10.0 * n + 10, value=float(value), met=met)
        for n, (value, met) in enumerate(played)
    ]
    found = summarised(tmp_path, [ask(0.5)], *levels).knee
    assert (found.level, found.missed) == knee


def test_levels_without_goals_have_no_knee(tmp_path):
    assert summarised(tmp_path, [ask(0.5)]).knee is None


def warnings_of(tmp_path, records, **changes):
    return " ".join(summarised(tmp_path, records, level(**changes)).levels[0].warnings)


def test_a_late_generator_says_so_instead_of_reporting_a_slow_server(tmp_path):
    said = warnings_of(tmp_path, plays([0.1] * 1500, late_s=0.02))
    assert "the generator was late" in said
    assert "20 ms (p99)" in said
    assert "understate" in said


def test_lateness_within_a_tenth_of_the_median_latency_is_no_warning(tmp_path):
    assert warnings_of(tmp_path, plays([0.1] * 1500, late_s=0.0099)) == ""
    assert warnings_of(tmp_path / "slow", plays([0.5] * 1500, late_s=0.049)) == ""


def test_a_lagging_loop_is_warned_of(tmp_path):
    lag = {"samples": 9, "p50_s": 0.001, "p99_s": 0.011, "max_s": 0.02}
    assert "event loop lagged by 11 ms" in warnings_of(
        tmp_path, plays([0.1] * 1500), generators=[generator(lag=lag)]
    )
    lag["p99_s"] = 0.009
    assert warnings_of(tmp_path / "little", plays([0.1] * 1500), generators=[generator(lag=lag)]) == ""


def test_arrivals_that_had_to_wait_retries_and_few_asks_are_warned_of(tmp_path):
    said = warnings_of(
        tmp_path, [*plays([0.1] * 40), *plays([0.1] * 2, every_s=1, attempts=2)][2:], delayed=3
    )
    assert "3 arrivals had to wait" in said
    assert "2 turns took more than one attempt" in said
    assert "40 answers only" in said
    assert "p90 100, p95 200, p99 1,000, p99.9 10,000" in said


def test_waiting_for_the_system_is_not_taken_for_a_late_generator(tmp_path):
    """Who keeps a beat asks late when the answer before is late; a retried turn was sent in time at first."""
    beat = [
        ask(n, 2.0, late_s=n * 1.0, conversation=f"c{play}", depth=n + 1)
        for play in range(300)
        for n in range(4)
    ]
    found = summarised(tmp_path, [*beat, ask(1.0, 1.0, late_s=5.0, conversation="r", attempts=2)]).levels[0]
    assert found.lateness.max_s == pytest.approx(0.0)
    assert found.lateness.count == 1200
    assert found.total.response.max_s == pytest.approx(6.0)
    assert not any("was late" in warning for warning in found.warnings)


def test_arrivals_that_waited_for_room_are_not_taken_for_a_late_generator(tmp_path):
    records = [ask(1.0, 0.1, late_s=4.0), ask(6.0, 0.1, late_s=0.002, depth=2)]
    found = summarised(tmp_path, records, level(delayed=1)).levels[0]
    assert found.lateness.max_s == pytest.approx(0.002)


def test_the_course_over_time_counts_each_ask_where_it_was_sent_and_done(tmp_path):
    records = [
        ask(0.5, 1.0, conversation="a", depth=1, ttft_s=0.5),
        ask(2.0, 0.4, conversation="a", depth=2),
        ask(1.0, 3.5, conversation="b", outcome="timed-out"),
    ]
    series = summarised(tmp_path, records).series
    assert (series.bucket_s, series.start_s) == (1.0, (0.0, 1.0, 2.0, 3.0, 4.0))
    assert series.sent == (1, 1, 1, 0, 0)
    assert series.done == (0, 1, 1, 0, 0)
    assert series.errors == (0, 0, 0, 0, 1)
    assert series.latency_p50_s == (None, pytest.approx(1.0), pytest.approx(0.4), None, None)
    assert series.ttft_p50_s == (None, pytest.approx(0.5), None, None, None)
    # a is open from 0.5 to 2.4, b from 1.0 to 4.5
    assert series.open_conversations == pytest.approx((0.5, 2.0, 1.4, 1.0, 0.5))


@pytest.mark.parametrize(("length_s", "bucket_s"), [(3, 1), (299, 1), (301, 2), (3000, 15), (86_400, 300)])
def test_buckets_are_round_and_not_more_than_300(tmp_path, length_s, bucket_s):
    records = [ask(0.0, 0.5, conversation="a"), ask(length_s, 0.5, conversation="b")]
    series = summarised(tmp_path, records, level(ended_s=length_s + 1.0)).series
    assert series.bucket_s == bucket_s
    assert len(series.start_s) <= 300
    assert sum(series.sent) == sum(series.done) == 2
