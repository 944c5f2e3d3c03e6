"""
One number made of sums over items, with its interval: a kappa, a win rate, a precision, a strength.

What such a number needs of the items are a few sums: how often a category was given, how often two raters
agreed. So each conversation is summed up once, a resample is a weighted sum of conversations, and the same
formula gives the number, its resampled values and, for BCa, what it would be without each conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.statistics.bootstrap import BLOCK
from replay.statistics.estimate import Resampling
from replay.statistics.interval import Interval, Scale, UndefinedNumber, ends_of, interval, value_or_none

Matrix = NDArray[np.float64]
Formula = Callable[[Matrix], Matrix]
"""From sums, shape (rows, features), to the number in each row, or to several: (rows,) or (rows, numbers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWithInterval:
    """One number, or why there is none."""

    value: float | UndefinedNumber
    interval: Interval | UndefinedNumber
    items: int
    """What the number is about: ratings, answers, comparisons."""
    clusters: int
    """What was resampled: conversations, or other groups of items."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        ends = ends_of(self.interval)
        return {
            "value": value_or_none(self.value),
            "low": ends["low"],
            "high": ends["high"],
            "items": self.items,
            "clusters": self.clusters,
            "undefined": self.value.reason if isinstance(self.value, UndefinedNumber) else None,
            "no_interval": ends["no_interval"],
        }


def no_number(why: UndefinedNumber, items: int = 0, clusters: int = 0) -> NumberWithInterval:
    """Return a value in place of an undefined number; *why* stands for the interval, too."""
    return NumberWithInterval(value=why, interval=why, items=items, clusters=clusters)


def resample(features: Matrix, cell: Sequence[int], drawn: Resampling, formula: Formula) -> Matrix:
    """
    Return *formula* of the *features* of the items of *cell*, summed up.

    *features* has the shape (items of *cell*, features). The first row is of the items as they are, then
    comes one for each resample and, for BCa, one without each of the conversations.
    """
    # A rater or a depth is in few of the conversations; the others' weights would be multiplied with 0.
    clusters, places = np.unique(np.asarray(drawn.clusters)[cell], return_inverse=True)
    sums = np.zeros((len(clusters), features.shape[1]))
    np.add.at(sums, places, features)
    total = sums.sum(axis=0, keepdims=True)
    weighted = [total, *(weights[:, clusters] @ sums for weights in drawn.weights)]
    if drawn.method == "bca":
        weighted.append(np.repeat(total, drawn.weights.clusters, axis=0))
        weighted[-1][clusters] -= sums
    rows = np.concatenate(weighted)
    # A formula may hold a square of what it is given for each row: every category against every other.
    at_a_time = max(1, BLOCK // features.shape[1] ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is a number that isn't there
        return np.concatenate(
            [formula(rows[begin : begin + at_a_time]) for begin in range(0, len(rows), at_a_time)]
        )


def number(
    values: Matrix, cell: Sequence[int], drawn: Resampling, *, scale: Scale, undefined: UndefinedNumber
) -> NumberWithInterval:
    """
    Return the number whose ``resampled`` values are *values*, shape (rows,), of the items of *cell*.

    *undefined* says why, where the first of them is NaN. NaN among the others is left out.
    """
    estimate, resamples = float(values[0]), drawn.weights.resamples
    clusters = len({drawn.clusters[place] for place in cell})
    if np.isnan(estimate):
        return no_number(undefined, len(cell), clusters)
    ends = interval(
        values[1 : resamples + 1],
        method=drawn.method,
        confidence=drawn.confidence,
        conversations=clusters,
        estimate=estimate,
        scale=scale,
        jackknifed=values[resamples + 1 :],
    )
    return NumberWithInterval(value=estimate, interval=ends, items=len(cell), clusters=clusters)


def by_depth(depths: Sequence[int | None]) -> dict[int | None, list[int]]:
    """Return the indices of each depth, depth 1 first, then all indices under None."""
    known = sorted({depth for depth in depths if depth is not None})
    cells: dict[int | None, list[int]] = {depth: [] for depth in known}
    for place, depth in enumerate(depths):
        if depth is not None:
            cells[depth].append(place)
    return {**cells, None: list(range(len(depths)))}
