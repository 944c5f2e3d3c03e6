"""What several generators counted, joined: what one would have counted."""

from __future__ import annotations

import numpy as np

from replay.load.counting import Count, Counts, Tally
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
