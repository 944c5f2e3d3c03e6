"""
What a score would be without each one of the conversations: what BCa intervals measure skew by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.scorers.observing import combine
from replay.statistics.score_column import Positions, ScoreColumn

Matrix = NDArray[np.float64]


def jackknifed_values(
    column: ScoreColumn, cells: Sequence[Positions], *, clusters: Positions, count: int
) -> Matrix:
    """
    The score of each cell without each conversation, shape (*count*, cells).

    NaN where nothing is left. *clusters* gives each record's conversation, of which there are *count*;
    every record of *cells* must have a score.
    """
    if column.is_mean:
        return jackknifed_means(*sums_and_counts(column, cells, clusters, count))
    values = np.full((count, len(cells)), np.nan)
    for position, cell in enumerate(cells):
        if not len(cell):
            continue
        values[:, position] = combine(column.scorer, [column.observed[index] for index in cell])
        for cluster in sorted({clusters[index] for index in cell}):
            rest: list[Any] = [column.observed[index] for index in cell if clusters[index] != cluster]
            values[cluster, position] = combine(column.scorer, rest) if rest else np.nan
    return values


def jackknifed_means(sums: Matrix, counts: Matrix) -> Matrix:
    """Means of all clusters but one each, shape (clusters, cells) as the arguments; NaN for none left."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Matrix = (sums.sum(axis=0) - sums) / (counts.sum(axis=0) - counts)
    # With one cluster only, a sum minus itself can leave a rounding error to be divided by zero.
    means[counts.sum(axis=0) == counts] = np.nan
    return means


def sums_and_counts(
    column: ScoreColumn, cells: Sequence[Positions], clusters: Positions, count: int
) -> tuple[Matrix, Matrix]:
    """Each conversation's sum of observations and their number, in each cell: shape (*count*, cells)."""
    sums = np.zeros((count, len(cells)))
    counts = np.zeros_like(sums)
    places = np.asarray(clusters, dtype=np.intp)
    for position, cell in enumerate(cells):
        values = np.fromiter((column.observed[index] for index in cell), np.float64, len(cell))
        sums[:, position] = np.bincount(places[cell], values, minlength=count)
        counts[:, position] = np.bincount(places[cell], minlength=count)
    return sums, counts
