"""
Numbers with their intervals: a score over some turns, and what is made of sums over items (a kappa, a win
rate, a precision, a strength).

What such a number needs of the items are a few sums: how often a category was given, how often two raters
agreed. So each conversation is summed up once, a resample is a weighted sum of conversations, and the same
formula gives the number, its resampled values and, for BCa, what it would be without each conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

import msgspec
import numpy as np

from replay.scorers.observing import combine, combine_resampled
from replay.scorers.scorer import ResampledScorer
from replay.statistics.interval import (
    Interval,
    IntervalMethod,
    Scale,
    UndefinedNumber,
    ends_of,
    interval,
    scale_of,
    value_or_none,
)
from replay.statistics.resampling import (
    BLOCK,
    Matrix,
    WeightBlocks,
    cluster_bootstrap,
    jackknifed_values,
    resampled_means,
    sums_and_counts,
)
from replay.statistics.score_column import Positions, ScoreColumn

Samples = tuple[Matrix, Matrix | None]
"""Scores in each resample and, for BCa, without each conversation; a column for each cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """Whole conversations drawn with replacement, the same ones for every number of a table."""

    clusters: Positions
    """For each record, its conversation's column of *weights*."""
    weights: WeightBlocks
    confidence: float = 0.95
    method: IntervalMethod = "t"

    def samples(self, column: ScoreColumn, cells: Sequence[Positions]) -> Samples:
        """Every record of *cells*, the positions that one number of a table is about, must have a score."""
        resampled = np.vstack(
            [resampled_values(column, cells, clusters=self.clusters, weights=some) for some in self.weights]
        )
        if self.method != "bca" or not self.weights.resamples:
            return resampled, None
        count = self.weights.clusters
        return resampled, jackknifed_values(column, cells, clusters=self.clusters, count=count)

    def ends(
        self,
        samples: Samples,
        cell: int,
        *,
        conversations: int,
        estimate: float | None,
        scale: Scale = "difference",
    ) -> dict[str, Any]:
        """``ends_of`` the interval of one cell, whose value is *estimate*, a number of that *scale*."""
        resampled, left_out = samples
        return ends_of(
            interval(
                resampled[:, cell],
                method=self.method,
                confidence=self.confidence,
                conversations=conversations,
                estimate=estimate,
                scale=scale,
                jackknifed=None if left_out is None else left_out[:, cell],
            )
        )


class Sampling(TypedDict, total=False):
    """How intervals are made, as keyword arguments: those of ``resampling``, which has their defaults."""

    resamples: int
    seed: int
    confidence: float
    method: IntervalMethod


def resampling(
    conversations: Sequence[str] | Sequence[int],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    method: IntervalMethod = "t",
) -> Resampling:
    """
    Return the draws of *conversations*, the one that each item belongs to, in alphabetical order.

    Args:
        conversations: One for each item.
        resamples: How often as many conversations are drawn; 0 for no intervals.
        seed: What they are drawn with.
        confidence: Of the intervals, in (0, 1).
        method: The kind of interval.
    """
    ids: list[Any] = sorted(set(conversations))
    place = {conversation: position for position, conversation in enumerate(ids)}
    return Resampling(
        clusters=[place[conversation] for conversation in conversations],
        weights=WeightBlocks(len(ids), resamples=resamples, seed=seed),
        confidence=confidence,
        method=method,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One score of one cell of a table."""

    value: float | None
    """None if no turn has a score, or the score isn't defined over those that have."""
    low: float | None
    high: float | None
    """The interval; None if fewer than two conversations have a scored turn, or for *no_interval*."""
    scored: int
    """Turns with a score."""
    conversations: int
    """Conversations with a scored turn."""
    unscored: Mapping[str, int]
    """Turns without a score by reason, in alphabetical order."""
    no_interval: str | None = None
    """Why there is no interval; None if there is one."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def estimate_cells(
    column: ScoreColumn,
    cells: Sequence[Positions],
    drawn: Resampling,
    value_of: Callable[[Positions], float | None] | None = None,
) -> tuple[list[Estimate], Samples]:
    """
    Return one estimate for each of *cells*, positions in *column*, and what its interval was read from.

    *value_of* gives the score of scored positions in place of ``column.value``.
    """
    is_scored = np.fromiter(map(column.is_scored, range(len(column.observed))), np.bool_)
    places = [np.asarray(cell, dtype=np.intp) for cell in cells]
    scored = [cell[is_scored[cell]] for cell in places]
    clusters = np.asarray(drawn.clusters, dtype=np.intp)
    samples = drawn.samples(column, scored)
    scale = scale_of(column.unit)
    estimates = []
    for position, (cell, known) in enumerate(zip(places, scored, strict=True)):
        conversations = len(np.unique(clusters[known]))
        value = (value_of or column.value)(known)
        reasons = Counter(column.observed[index].reason for index in cell[~is_scored[cell]])
        estimates.append(
            Estimate(
                value=value,
                scored=len(known),
                conversations=conversations,
                unscored=dict(sorted(reasons.items())),
                **drawn.ends(samples, position, conversations=conversations, estimate=value, scale=scale),
            )
        )
    return estimates, samples


def resampled_values(
    column: ScoreColumn, cells: Sequence[Positions], *, clusters: Positions, weights: Matrix
) -> Matrix:
    """
    Return each cell's score in each resample, shape (resamples, cells); NaN where it has no turn.

    Every record of *cells* must have a score.
    """
    if column.is_mean:
        return resampled_means(*sums_and_counts(column, cells, clusters, weights.shape[1]), weights)
    values = np.full((len(weights), len(cells)), np.nan)
    if isinstance(column.scorer, ResampledScorer):
        for position, cell in enumerate(cells):
            if len(cell):
                observed, places = [column.observed[i] for i in cell], [clusters[i] for i in cell]
                values[:, position] = combine_resampled(column.scorer, observed, places, weights)
        return values
    for position, cell in enumerate(cells):
        by_cluster: list[list[Any]] = [[] for _ in range(weights.shape[1])]
        for index in cell:
            by_cluster[clusters[index]].append(column.observed[index])
        values[:, position] = cluster_bootstrap(by_cluster, partial(combine, column.scorer), weights)
    return values


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
