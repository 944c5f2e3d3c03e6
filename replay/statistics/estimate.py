"""
A score over some turns, with its interval and what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.core.record import TurnRecord
from replay.scorers.scorer import ResampledScorer, Unscored
from replay.statistics.bootstrap import Matrix, cluster_bootstrap, resampled_means
from replay.statistics.interval import Interval, IntervalMethod, interval
from replay.statistics.jackknife import jackknifed_values, sums_and_counts
from replay.statistics.score_column import ScoreColumn

Cell = Sequence[int]
"""Positions of records: those that one number of a table is about."""


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
        """Plain values for JSON."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "scored": self.scored,
            "conversations": self.conversations,
            "unscored": dict(self.unscored),
            "no_interval": self.no_interval,
        }


def conversation_clusters(records: Sequence[TurnRecord]) -> tuple[list[int], int]:
    """For each record the position of its conversation among all, in alphabetical order; and their number."""
    ids = sorted({record.recorded_conversation for record in records})
    place = {conversation: position for position, conversation in enumerate(ids)}
    return [place[record.recorded_conversation] for record in records], len(ids)


def estimate_cells(
    column: ScoreColumn,
    cells: Sequence[Cell],
    *,
    clusters: Sequence[int],
    weights: Matrix,
    confidence: float,
    method: IntervalMethod = "percentile",
) -> list[Estimate]:
    """
    One estimate for each of *cells*.

    *clusters* gives, for every record, its conversation's column of *weights*.
    """
    scored = [[index for index in cell if column.is_scored(index)] for cell in cells]
    resampled = resampled_values(column, scored, clusters=clusters, weights=weights)
    jackknifed = (
        jackknifed_values(column, scored, clusters=clusters, count=weights.shape[1])
        if method == "bca" and len(weights)
        else None
    )
    estimates = []
    for position, (cell, indices) in enumerate(zip(cells, scored, strict=True)):
        conversations = len({clusters[index] for index in indices})
        value = column.value(indices)
        ends = interval(
            resampled[:, position],
            method=method,
            confidence=confidence,
            conversations=conversations,
            estimate=value,
            jackknifed=None if jackknifed is None else jackknifed[:, position],
        )
        reasons = Counter(o.reason for i in cell if isinstance(o := column.observed[i], Unscored))
        estimates.append(
            Estimate(
                value=value,
                low=ends.low if isinstance(ends, Interval) else None,
                high=ends.high if isinstance(ends, Interval) else None,
                scored=len(indices),
                conversations=conversations,
                unscored=dict(sorted(reasons.items())),
                no_interval=None if isinstance(ends, Interval) else ends.reason,
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
        return resampled_means(*sums_and_counts(column, cells, clusters, weights.shape[1]), weights)
    values = np.full((len(weights), len(cells)), np.nan)
    if isinstance(column.scorer, ResampledScorer):
        for position, cell in enumerate(cells):
            if cell:
                observed, places = [column.observed[i] for i in cell], [clusters[i] for i in cell]
                values[:, position] = column.scorer.combine_resampled(observed, places, weights)
        return values
    for position, cell in enumerate(cells):
        by_cluster: list[list[Any]] = [[] for _ in range(weights.shape[1])]
        for index in cell:
            by_cluster[clusters[index]].append(column.observed[index])
        values[:, position] = cluster_bootstrap(by_cluster, column.scorer.combine, weights)
    return values
