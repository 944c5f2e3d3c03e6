"""Goals of a load, warnings about its generator, and its course over time."""

from __future__ import annotations

import pytest

from tests.statistics.load.test_load_summary import plays
from tests.statistics.load_runs import ask, level, summarised


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


def warnings_of(tmp_path, records, **changes):
    return " ".join(summarised(tmp_path, records, level(**changes)).levels[0].warnings)


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
