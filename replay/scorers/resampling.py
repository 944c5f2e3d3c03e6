"""
What scorers that are no mean share to combine all resamples of a bootstrap at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]
    Vector = NDArray[np.float64]


def resampled_sums(
    statistics: Sequence[Sequence[float]], clusters: Sequence[int], weights: Matrix
) -> tuple[Matrix, Vector]:
    """
    Return the added-up *statistics* of each resample, shape (resamples, statistics), and how many were added.

    Row i of *statistics* belongs to cluster ``clusters[i]`` and counts ``weights[r, clusters[i]]`` times
    in resample r.
    """
    import numpy as np

    rows = np.column_stack([np.asarray(statistics, dtype=np.float64), np.ones(len(statistics))])
    by_cluster = np.zeros((weights.shape[1], rows.shape[1]))
    np.add.at(by_cluster, np.asarray(clusters), rows)
    totals = weights @ by_cluster
    return totals[:, :-1], totals[:, -1]


def resampled_shares(part: Vector, whole: Vector) -> Vector:
    """Return *part* by *whole*; NaN where a resample has nothing to take a share of."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        shares: Vector = part / whole
    return shares
