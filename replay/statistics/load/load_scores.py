"""
Scores of many cells of a load run, with intervals, and how much less they are than at the first level.

The estimates are those of the depth table. As everywhere, conversations of the data are resampled, with
all their plays; level and first level see the same resample, so that their difference is paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from replay.statistics.bootstrap import WeightBlocks
from replay.statistics.estimate import Estimate, Resampling, Samples, estimate_cells
from replay.statistics.interval import scale_of
from replay.statistics.load.asks import Asks
from replay.statistics.score_column import Positions, ScoreColumn

Cell = NDArray[np.intp]
"""Positions of turns."""

_MOST_OBSERVATIONS = 50_000_000
"""Conversations times resamples up to which scores that are no means have intervals; others take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellScores:
    """One score of every cell."""

    estimates: list[Estimate]
    drops: list[Estimate | None]
    """First value minus this cell's; None where there is nothing to compare with."""


def cell_scores(
    column: ScoreColumn,
    asks: Asks,
    cells: Sequence[Cell],
    firsts: Sequence[int | None],
    *,
    resamples: int,
    seed: int,
) -> CellScores:
    """
    Return *column*'s score of each of *cells*; *firsts* gives the cell that each is to be compared with.

    Both stand for turns by their positions in *asks*.
    """
    if not column.is_mean and asks.recorded_count * resamples > _MOST_OBSERVATIONS:
        resamples = 0
    weights = WeightBlocks(asks.recorded_count, resamples=resamples, seed=seed)
    drawn = Resampling(clusters=asks.recorded, weights=weights)
    value_of = partial(_pairwise_mean, column) if column.is_mean else None
    estimates, (resampled, _) = estimate_cells(column, cells, drawn, value_of)

    def drop(position: int, first: int | None) -> Estimate | None:
        if first is None or (before := estimates[first]).value is None:
            return None
        now = estimates[position]
        conversations = min(before.conversations, now.conversations)
        value = None if now.value is None else before.value - now.value
        lost: Samples = (resampled[:, [first]] - resampled[:, [position]], None)
        return Estimate(
            value=value,
            scored=now.scored,
            conversations=conversations,
            unscored={},
            **drawn.ends(
                lost,
                0,
                conversations=conversations,
                estimate=value,
                scale=scale_of(column.unit, difference=True),
            ),
        )

    drops = [drop(position, first) for position, first in enumerate(firsts)]
    return CellScores(estimates=estimates, drops=drops)


def _pairwise_mean(column: ScoreColumn, known: Positions) -> float | None:
    # numpy's sum, not the exact one of ``combine``: their last digits differ, and a load run's are these.
    values = np.fromiter((column.observed[index] for index in known), np.float64, len(known))
    return float(values.mean()) if len(values) else None
