"""
A score over some turns, with its interval and what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.record import TurnRecord
from replay.scorers.scorer import Unscored
from replay.statistics.bootstrap import Matrix, cluster_bootstrap, percentile_interval, resampled_means
from replay.statistics.score_column import ScoreColumn

Cell = Sequence[int]
"""Positions of records: those that one number of a table is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One score of one cell of a table."""

    value: float | None
    """None if no turn has a score."""
    low: float | None
    high: float | None
    """The interval; None if fewer than two conversations have a scored turn."""
    scored: int
    """Turns with a score."""
    conversations: int
    """Conversations with a scored turn."""
    unscored: Mapping[str, int]
    """Turns without a score by reason, in alphabetical order."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "scored": self.scored,
            "conversations": self.conversations,
            "unscored": dict(self.unscored),
        }


def conversation_clusters(records: Sequence[TurnRecord]) -> tuple[list[int], int]:
    """For each record the position of its conversation among all, in alphabetical order; and their number."""
    ids = sorted({record.conversation for record in records})
    place = {conversation: position for position, conversation in enumerate(ids)}
    return [place[record.conversation] for record in records], len(ids)


def estimate_cells(
    column: ScoreColumn,
    cells: Sequence[Cell],
    *,
    clusters: Sequence[int],
    weights: Matrix,
    confidence: float,
) -> list[Estimate]:
    """
    One estimate for each of *cells*.

    *clusters* gives, for every record, its conversation's column of *weights*.
    """
    scored = [[index for index in cell if column.is_scored(index)] for cell in cells]
    resampled = resampled_values(column, scored, clusters=clusters, weights=weights)
    estimates = []
    for position, (cell, indices) in enumerate(zip(cells, scored, strict=True)):
        conversations = len({clusters[index] for index in indices})
        interval = percentile_interval(resampled[:, position], confidence) if conversations > 1 else None
        reasons = Counter(o.reason for i in cell if isinstance(o := column.observed[i], Unscored))
        estimates.append(
            Estimate(
                value=column.value(indices),
                low=interval[0] if interval else None,
                high=interval[1] if interval else None,
                scored=len(indices),
                conversations=conversations,
                unscored=dict(sorted(reasons.items())),
            )
        )
    return estimates


def resampled_values(
    column: ScoreColumn, cells: Sequence[Cell], *, clusters: Sequence[int], weights: Matrix
) -> Matrix:
    """
    The score of each cell in each resample, shape (resamples, cells); NaN where a resample lacks the cell.

    Every record of *cells* must have a score.
    """
    if column.is_mean:
        return _resampled_means(column, cells, clusters, weights)
    values = np.full((len(weights), len(cells)), np.nan)
    for position, cell in enumerate(cells):
        by_cluster: list[list[Any]] = [[] for _ in range(weights.shape[1])]
        for index in cell:
            by_cluster[clusters[index]].append(column.observed[index])
        values[:, position] = cluster_bootstrap(by_cluster, column.scorer.combine, weights)
    return values


def _resampled_means(
    column: ScoreColumn, cells: Sequence[Cell], clusters: Sequence[int], weights: Matrix
) -> Matrix:
    sums = np.zeros((weights.shape[1], len(cells)))
    counts = np.zeros_like(sums)
    for position, cell in enumerate(cells):
        for index in cell:
            sums[clusters[index], position] += float(column.observed[index])
            counts[clusters[index], position] += 1
    return resampled_means(sums, counts, weights)
