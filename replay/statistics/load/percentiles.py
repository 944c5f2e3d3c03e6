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


class Durations(Protocol):
    """Durations in whatever form they were kept; ``histogram.py`` counts them in buckets."""

    @property
    def count(self) -> int: ...

    def quantiles(self, shares: Sequence[float]) -> list[float] | None:
        """Return the quantiles in seconds; None if there is no duration."""
        ...

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


class KeptDurations:
    """One by one, NaN left out. As ``numpy.quantile`` interpolates."""

    def __init__(self, durations_s: NDArray[np.floating[Any]]) -> None:
        self.known_s: NDArray[np.floating[Any]] = durations_s[~np.isnan(durations_s)]

    @property
    def count(self) -> int:
        return len(self.known_s)

    def quantiles(self, shares: Sequence[float]) -> list[float] | None:
        found: list[float] = np.quantile(self.known_s, shares).tolist() if self.count else []
        return found or None

    def mean_s(self) -> float | None:
        return float(self.known_s.mean(dtype=np.float64)) if self.count else None


class CountedDurations:
    """Whole numbers of *unit_s* seconds that were seen as often as *counts* says; interpolated alike."""

    def __init__(self, counts: Mapping[int, int], unit_s: float) -> None:
        self._durations = np.array(sorted(counts), dtype=np.int64)
        self._times = np.array([counts[one] for one in self._durations.tolist()], dtype=np.int64)
        self._unit_s = unit_s

    @property
    def count(self) -> int:
        return int(self._times.sum())

    def quantiles(self, shares: Sequence[float]) -> list[float] | None:
        if not self.count:
            return None
        ends = np.cumsum(self._times)
        places = np.array(shares) * (self.count - 1)
        below = np.floor(places).astype(np.int64)
        low = self._durations[np.searchsorted(ends, below, side="right")]
        above = np.minimum(below + 1, self.count - 1)
        high = self._durations[np.searchsorted(ends, above, side="right")]
        values: list[float] = ((low + (high - low) * (places - below)) * self._unit_s).tolist()
        return values

    def mean_s(self) -> float | None:
        total = (self._durations * self._times).sum()
        return float(total / self.count * self._unit_s) if self.count else None


def percentiles(durations: Durations) -> Percentiles | None:
    """Return the percentiles of *durations*; None if there are none."""
    values, mean_s = durations.quantiles([*SHARES, 1.0]), durations.mean_s()
    if values is None or mean_s is None:
        return None
    p50, p90, p95, p99, p99_9, longest = values
    return Percentiles(
        count=durations.count,
        mean_s=mean_s,
        p50_s=p50,
        p90_s=p90,
        p95_s=p95,
        p99_s=p99,
        p99_9_s=p99_9,
        max_s=longest,
        exact=isinstance(durations, KeptDurations | CountedDurations),
    )


def asks_needed(share: float) -> int:
    """Return how many asks a percentile takes to mean something: ten that lie beyond it."""
    return math.ceil(round(10 / (1 - share), 6))
