"""
Percentiles of many durations: exact from the durations themselves, or from a histogram where only that
was kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)


class Histogram(Protocol):
    """Durations counted in buckets, as ``replay.play.load.histogram`` does."""

    @property
    def count(self) -> int: ...

    def quantiles(self, shares: Sequence[float]) -> list[float] | None: ...

    def mean_s(self) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Of durations in seconds."""

    count: int
    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    p99_9_s: float
    max_s: float
    exact: bool = True
    """False where some come from a histogram: within 0.1 % then."""


def percentiles(durations_s: NDArray[np.floating[Any]]) -> Percentiles | None:
    """Of *durations_s*, NaN left out; None if nothing is left. As ``numpy.quantile`` interpolates."""
    known = durations_s[~np.isnan(durations_s)]
    if not len(known):
        return None
    values = np.quantile(known, [*SHARES, 1.0]).tolist()
    return _named(len(known), float(known.mean(dtype=np.float64)), values, exact=True)


def histogram_percentiles(histogram: Histogram) -> Percentiles | None:
    """Of what *histogram* has counted; None if nothing."""
    values, mean_s = histogram.quantiles([*SHARES, 1.0]), histogram.mean_s()
    if values is None or mean_s is None:
        return None
    return _named(histogram.count, mean_s, values, exact=False)


def counted_percentiles(counts: Mapping[int, int], unit_s: float) -> Percentiles | None:
    """Of whole numbers of *unit_s* seconds that were seen as often as *counts* says; None if none was."""
    if not counts:
        return None
    durations = np.array(sorted(counts), dtype=np.int64)
    times = np.array([counts[duration] for duration in durations.tolist()], dtype=np.int64)
    ends = np.cumsum(times)
    total = int(ends[-1])
    places = np.array([*SHARES, 1.0]) * (total - 1)
    below = np.floor(places).astype(np.int64)
    low = durations[np.searchsorted(ends, below, side="right")]
    high = durations[np.searchsorted(ends, np.minimum(below + 1, total - 1), side="right")]
    values = (low + (high - low) * (places - below)) * unit_s
    return _named(total, float((durations * times).sum() / total * unit_s), values.tolist(), exact=True)


def asks_needed(share: float) -> int:
    """How many asks a percentile takes to mean something: ten that lie beyond it."""
    return math.ceil(round(10 / (1 - share), 6))


def _named(count: int, mean_s: float, values: Sequence[float], *, exact: bool) -> Percentiles:
    p50, p90, p95, p99, p99_9, longest = values
    return Percentiles(
        count=count,
        mean_s=mean_s,
        p50_s=p50,
        p90_s=p90,
        p95_s=p95,
        p99_s=p99,
        p99_9_s=p99_9,
        max_s=longest,
        exact=exact,
    )
