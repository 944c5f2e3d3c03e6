"""
How far scores and human ratings go together: Pearson, Spearman and Kendall, with intervals.

Pearson's r asks for a straight line, Spearman's rho and Kendall's tau for the same order. Tau is tau-b,
which corrects for ties on both sides (Kendall, *The treatment of ties in ranking problems*, Biometrika
33, 1945); ratings on a scale of five are full of ties. The numbers are scipy's.

Intervals are bootstrap intervals: items are drawn with replacement, or, where several items share a
passage, a conversation or a context, all items of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from replay.statistics.bootstrap import cluster_weights
from replay.statistics.interval import IntervalMethod, UndefinedNumber, interval
from replay.statistics.number import NumberWithInterval, no_number

CorrelationName = Literal["pearson", "spearman", "kendall"]
Vector = NDArray[np.float64]


def correlations(
    x: Sequence[float],
    y: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    method: IntervalMethod = "t",
) -> dict[CorrelationName, NumberWithInterval]:
    """
    Return the three coefficients of *x* and *y*, item by item; all three see the same resamples.

    *clusters* names what each item belongs to; left out, each item stands on its own. Clusters are
    drawn in the order in which they come first.

    Raises:
        ValueError: the lengths differ, or a value is not finite.
    """
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(first) != len(second) or (clusters is not None and len(clusters) != len(first)):
        raise ValueError(f"{len(first)} values can't be correlated with {len(second)}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("a value is not finite")
    members = _members(range(len(first)) if clusters is None else clusters)
    why = _why_undefined(first, second)
    if why is not None:
        return dict.fromkeys(COEFFICIENTS, no_number(why, len(first), len(members)))
    samples = [
        np.concatenate([np.repeat(items, times) for items, times in zip(members, weights, strict=True)])
        for weights in cluster_weights(len(members), resamples=resamples, seed=seed).astype(int)
    ]
    left_out = _left_out(members) if method == "bca" and resamples else []
    found = {}
    for name, coefficient in COEFFICIENTS.items():
        value = coefficient(first, second)
        ends = interval(
            _values(coefficient, first, second, samples),
            method=method,
            confidence=confidence,
            conversations=len(members),
            estimate=value,
            scale="signed share",
            jackknifed=_values(coefficient, first, second, left_out),
        )
        if isinstance(ends, UndefinedNumber) and len(members) < 2:
            ends = UndefinedNumber(reason="fewer than two independent items")
        found[name] = NumberWithInterval(value=value, interval=ends, items=len(first), clusters=len(members))
    return found


def _pearson(x: Vector, y: Vector) -> float:
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1, 1))


def _spearman(x: Vector, y: Vector) -> float:
    from scipy.stats import rankdata

    return _pearson(rankdata(x), rankdata(y))


def _kendall(x: Vector, y: Vector) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(x, y, variant="b").statistic)


COEFFICIENTS: Mapping[CorrelationName, Callable[[Vector, Vector], float]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}


def _why_undefined(x: Vector, y: Vector) -> UndefinedNumber | None:
    if len(x) < 2:
        return UndefinedNumber(reason="fewer than two items")
    for values, name in ((x, "scores"), (y, "ratings")):
        if (values == values[0]).all():
            return UndefinedNumber(reason=f"all {name} are equal")
    return None


def _values(
    coefficient: Callable[[Vector, Vector], float], x: Vector, y: Vector, samples: Sequence[NDArray[Any]]
) -> Vector:
    """Return the coefficient of each sample; NaN if undefined, as for equal ratings."""
    values = np.full(len(samples), np.nan)
    for position, sample in enumerate(samples):
        drawn = x[sample], y[sample]
        if len(sample) and _why_undefined(*drawn) is None:
            values[position] = coefficient(*drawn)
    return values


def _members(clusters: Sequence[Hashable] | range) -> list[NDArray[Any]]:
    """Return the items of each cluster."""
    places: dict[Hashable, list[int]] = {}
    for item, cluster in enumerate(clusters):
        places.setdefault(cluster, []).append(item)
    return [np.array(items) for items in places.values()]


def _left_out(members: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return all items but those of one cluster each."""
    items = np.concatenate(members)
    return [np.setdiff1d(items, one) for one in members]
