"""What several generators counted, joined: what one would have counted; and how late one sends."""

from __future__ import annotations

import numpy as np
import pytest

from replay.load.counting import Count, Counts, LatenessCounter, Tally
from tests.statistics.load_runs import ask


def test_tallies_of_three_generators_joined_are_those_of_one():
    """Percentiles of all can't be had from percentiles of each; histograms add up to the last bucket."""
    rng = np.random.default_rng(4)
    whole, parts = Counts(), [Counts() for _ in range(3)]
    for number, latency_s in enumerate(rng.lognormal(-3, 1, 900).tolist()):
        failed = "timed-out" if number % 50 == 0 else "answered"
        ttft_s = latency_s / 2 if number % 3 else None
        record = ask(number / 10, latency_s * (1 + number % 3), outcome=failed, ttft_s=ttft_s)
        for counts in (whole, parts[number % 3]):
            counts.tallies.setdefault((0, "s", "pred", 1 + number % 2), Tally()).add(record)
    joined = Counts()
    for part in parts:
        joined.merge(Count(), part.take_tallies())
    found, wanted = joined.take_tallies(), whole.take_tallies()
    assert {key: tally.data() for key, tally in found.items()} == {
        key: tally.data() for key, tally in wanted.items()
    }
    p99s = [tally.durations["latency"].quantiles([0.99]) for tally in found.values()]
    assert all(p99s)


def test_lateness_is_from_due_to_sent_and_from_the_answer_before_where_that_came_later():
    late = LatenessCounter()
    late.add(ask(1.0, 3.0, late_s=0.5), counts=True)  # sent at 1.5, done at 4.5
    late.add(ask(2.0, 1.0, late_s=2.6, depth=2), counts=True)  # due before that, sent at 4.6
    late.add(ask(9.0, 1.0, late_s=0.2, depth=3), counts=True)
    found = late.take(first_turns=True)
    assert found is not None
    assert (found.asks, found.p50_s, found.max_s) == (3, pytest.approx(0.2, 1e-3), pytest.approx(0.5, 1e-3))


def test_retried_turns_and_those_outside_of_the_window_say_nothing():
    late = LatenessCounter()
    late.add(ask(1.0, 3.0, late_s=9.0, attempts=2), counts=True)
    late.add(ask(2.0, 1.0, late_s=9.0, conversation="b"), counts=False)
    assert late.take(first_turns=True) is None
    late.add(ask(3.0, 1.0, late_s=10.01, depth=2), counts=True)  # 10 ms after the answer before
    found = late.take(first_turns=True)
    assert found is not None
    assert found.max_s == pytest.approx(0.01, 1e-3)


def test_first_turns_say_nothing_where_arrivals_had_to_wait():
    late = LatenessCounter()
    for depth, late_s in ((1, 5.0), (2, 0.25)):
        late.add(ask(10.0 * depth, 1.0, late_s=late_s, depth=depth), counts=True)
    found = late.take(first_turns=False)
    assert found is not None
    assert (found.asks, found.max_s) == (1, pytest.approx(0.25, 1e-3))
    assert late.take(first_turns=True) is None, "the next level begins with none"


def test_conversations_that_are_over_take_no_room_and_percentiles_are_those_of_all():
    late, rng = LatenessCounter(), np.random.default_rng(0)
    drawn = rng.exponential(0.01, 10_000)
    for number, late_s in enumerate(drawn):
        late.add(ask(float(number), late_s=float(late_s), conversation=f"c{number}"), counts=True)
        late.forget(f"c{number}", "s", "pred")
    assert not late._done_s
    found = late.take(first_turns=True)
    assert found is not None
    assert [found.p50_s, found.p99_s] == pytest.approx(np.quantile(drawn, [0.5, 0.99]), rel=2e-3)
