"""
How often a 95 % interval holds the truth: percentile and BCa, by number of conversations.

    python benchmarks/interval_coverage.py

Two populations whose mean is known: a skewed score (exponential, mean 1), and the share of right
answers among five turns a conversation (.8). 1,000 data sets each, 1,000 resamples.
"""

from __future__ import annotations

import numpy as np

from replay.statistics.bootstrap import cluster_weights
from replay.statistics.interval import Interval, IntervalMethod, interval

DATA_SETS = 1000
RESAMPLES = 1000
METHODS: tuple[IntervalMethod, ...] = ("percentile", "bca")


def coverage(kind: str, conversations: int) -> dict[str, str]:
    rng = np.random.default_rng(1)
    weights = cluster_weights(conversations, resamples=RESAMPLES, seed=0) / conversations
    truth = 1.0 if kind == "skewed" else 0.8
    held = dict.fromkeys(METHODS, 0)
    defined = dict.fromkeys(METHODS, 0)
    for _ in range(DATA_SETS):
        if kind == "skewed":
            values = rng.exponential(size=conversations)
        else:
            values = (rng.random((conversations, 5)) < truth).mean(axis=1)
        for method in METHODS:
            found = interval(
                weights @ values,
                method=method,
                confidence=0.95,
                conversations=conversations,
                estimate=float(values.mean()),
                jackknifed=(values.sum() - values) / (conversations - 1),
            )
            if isinstance(found, Interval):
                defined[method] += 1
                held[method] += found.low <= truth + 1e-9 and found.high >= truth - 1e-9
    return {m: f"{100 * held[m] / defined[m]:.1f} % of {defined[m]}" for m in METHODS}


def main() -> None:
    for kind in ("skewed", "share"):
        for conversations in (5, 10, 25, 100):
            print(kind, conversations, coverage(kind, conversations))


if __name__ == "__main__":
    main()
