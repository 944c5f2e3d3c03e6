"""
A score over some turns, with its interval and what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import numpy as np

from replay.scorers.observing import combine, combine_resampled
from replay.scorers.scorer import ResampledScorer
from replay.statistics.bootstrap import (
    Matrix,
    WeightBlocks,
    cluster_bootstrap,
    jackknifed_values,
    resampled_means,
    sums_and_counts,
)
from replay.statistics.interval import IntervalMethod, Scale, ends_of, interval, scale_of
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


def resampling(
    conversations: Sequence[str],
    *,
    resamples: int,
    seed: int,
    confidence: float = 0.95,
    method: IntervalMethod = "t",
) -> Resampling:
    """Of *conversations*, the one that each item belongs to, in alphabetical order."""
    ids = sorted(set(conversations))
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
