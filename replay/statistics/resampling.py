"""
Conversations drawn again, or swapped, whole: the bootstrap behind intervals, and the paired permutation test.

The turns of one conversation are not independent: a wrong answer early on spoils what follows. So
whole conversations are drawn with replacement, with all their turns (the cluster bootstrap: Field &
Welsh, *Bootstrapping clustered data*, JRSS B 69, 2007). A percentile interval is read off the resampled
values (Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13).

One draw serves every number of a table: resample 17 holds the same conversations for every system,
policy, depth and score, so that differences between them are paired. How many turns a depth has is
then itself random, as it is in the data; a resample in which a cell has no turn at all says nothing
about that cell and is left out of its interval.

With few conversations a percentile interval is too narrow (two conversations give three different
resamples), and where all observations are equal it has no width at all; see ``interval.py`` for one that
is made for few. None says anything about what the system would answer if it were asked again. BCa intervals
measure skew by what a score would be without each one of the conversations.

The test asks whether a difference could be chance. If it made no difference which of two sides answered,
then swapping the two sides' scores of a whole conversation would be as likely as leaving them (Fisher's
randomization test for pairs; Noreen, *Computer-Intensive Methods for Testing Hypotheses*, 1989). The p-value
is the share of all swaps whose difference is at least as far from 0 as the one found, the one found among
them; two-sided. With few conversations all swaps are looked at and the p-value is exact. Otherwise they are
drawn with a seed, and p = (1 + hits) / (1 + draws), which is never 0 and keeps the level (Phipson & Smyth,
*Permutation p-values should never be zero*, SAGMB 9, 2010).

``scipy.stats.bootstrap`` draws for each cell by itself, so that nothing is paired, and took 104 ms for 40
cells of 200 conversations where this takes 23. ``scipy.stats.permutation_test`` gives the same where all
swaps are looked at, and took 884 ms for 20 cells of 100 conversations where this, which draws for all of them
at once, takes 88.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from replay.scorers.observing import combine
from replay.statistics.score_column import Positions, ScoreColumn

S = TypeVar("S")
Matrix = NDArray[np.float64]

BLOCK = 5_000_000
"""Entries of a matrix of weights that are held at a time."""


def cluster_weights(clusters: int, *, resamples: int, seed: int) -> Matrix:
    """
    Return how often each cluster is drawn in each resample.

    Args:
        clusters: The number of clusters, from which each resample draws as many with replacement.
        resamples: The number of resamples.
        seed: Of the random numbers; the same arguments give the same matrix.

    Returns:
        Shape (*resamples*, *clusters*); each row sums to *clusters*.

    Raises:
        ValueError: *resamples* or *clusters* is negative.
    """
    if resamples < 0 or clusters < 0:
        raise ValueError(f"resamples ({resamples}) and clusters ({clusters}) can't be negative")
    return np.concatenate([np.zeros((0, clusters)), *_blocks(clusters, resamples, seed)])


class WeightBlocks:
    """
    The rows of ``cluster_weights``, as many at a time as memory is to hold; the same however often one looks.
    """

    def __init__(self, clusters: int, *, resamples: int, seed: int) -> None:
        self.clusters = clusters
        self.resamples = resamples
        self.seed = seed
        self._all: Matrix | None = None

    def __iter__(self) -> Iterator[Matrix]:
        if self._all is None and self.clusters * self.resamples <= BLOCK:
            self._all = cluster_weights(self.clusters, resamples=self.resamples, seed=self.seed)
        if self._all is not None:
            return iter([self._all])
        return _blocks(self.clusters, self.resamples, self.seed)


def _blocks(clusters: int, resamples: int, seed: int) -> Iterator[Matrix]:
    if not clusters:
        yield np.zeros((resamples, 0))
        return
    rng = np.random.default_rng(seed)
    at_a_time = max(1, BLOCK // clusters)
    for begin in range(0, resamples, at_a_time):
        rows = min(at_a_time, resamples - begin)
        yield rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=rows).astype(np.float64)


def resampled_means(sums: Matrix, counts: Matrix, weights: Matrix) -> Matrix:
    """
    Return the means of many cells in each resample; NaN where a resample has none of a cell.

    *sums* and *counts* have the shape (clusters, cells), *weights* (resamples, clusters); the result
    (resamples, cells).
    """
    totals = weights @ np.hstack([sums, counts])
    cells = sums.shape[1]
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN we promise
        means: Matrix = totals[:, :cells] / totals[:, cells:]
    return means


def cluster_bootstrap(
    clusters: Sequence[Sequence[S]], combine: Callable[[Iterable[S]], float], weights: Matrix
) -> Matrix:
    """
    Return *combine* of each resample of *clusters*, a sequence of observations each: shape (resamples,).

    NaN where a resample has no observation. For a mean, ``resampled_means`` gives the same faster.
    """
    values = np.full(len(weights), np.nan)
    for row, weight in enumerate(weights):
        drawn = [
            observation
            for observations, times in zip(clusters, weight, strict=True)
            for observation in list(observations) * int(times)
        ]
        if drawn:
            values[row] = combine(drawn)
    return values


def jackknifed_values(
    column: ScoreColumn, cells: Sequence[Positions], *, clusters: Positions, count: int
) -> Matrix:
    """
    Return the score of each cell without each conversation, shape (*count*, cells).

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
    """Return the means of all clusters but one each, shape (clusters, cells); NaN for none left."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Matrix = (sums.sum(axis=0) - sums) / (counts.sum(axis=0) - counts)
    # With one cluster only, a sum minus itself can leave a rounding error to be divided by zero.
    means[counts.sum(axis=0) == counts] = np.nan
    return means


def sums_and_counts(
    column: ScoreColumn, cells: Sequence[Positions], clusters: Positions, count: int
) -> tuple[Matrix, Matrix]:
    """Return sum and number of each conversation's observations in each cell, shape (*count*, cells)."""
    sums = np.zeros((count, len(cells)))
    counts = np.zeros_like(sums)
    places = np.asarray(clusters, dtype=np.intp)
    for position, cell in enumerate(cells):
        values = np.fromiter((column.observed[index] for index in cell), np.float64, len(cell))
        sums[:, position] = np.bincount(places[cell], values, minlength=count)
        counts[:, position] = np.bincount(places[cell], minlength=count)
    return sums, counts


PERMUTATIONS = 10_000
"""Swaps drawn, and the most that are looked at one by one: 2^13 do."""
SLOW_PERMUTATIONS = 1_000
"""The most where the score is no mean and has to be combined again for each."""

_SWAPS_AT_A_TIME = 1024
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlipTest:
    """A p-value and how it came about."""

    p: float
    """Two-sided, in (0, 1]."""
    exact: bool
    """All swaps were looked at; otherwise *permutations* were drawn."""
    permutations: int
    conversations: int
    """Conversations in which the sides differ; swapping others changes nothing."""


def sign_flip_means(differences: Matrix, *, permutations: int, seed: int) -> list[SignFlipTest]:
    """
    Return the test of each column of *differences*, for scores that are means.

    *differences* has the shape (conversations, cells): the sum, over the paired turns of a conversation
    and cell, of second minus first. Columns don't influence each other's result.
    """
    counts = np.count_nonzero(differences, axis=0)
    exact = [2**count <= permutations for count in counts.tolist()]
    drawn = _hits_drawn(differences, permutations, seed) if not all(exact) else None
    tests = []
    for cell, is_exact in enumerate(exact):
        column = differences[:, cell]
        if is_exact:
            signed = _all_signs(int(counts[cell])) @ column[column != 0]
            p, looked_at = float(_at_least(signed, column).mean()), len(signed)
        else:
            assert drawn is not None
            p, looked_at = (1 + int(drawn[cell])) / (1 + permutations), permutations
        tests.append(
            SignFlipTest(p=p, exact=is_exact, permutations=looked_at, conversations=int(counts[cell]))
        )
    return tests


def sign_flip(
    first: Sequence[Sequence[S]],
    second: Sequence[Sequence[S]],
    combine: Callable[[Iterable[S]], float],
    *,
    permutations: int,
    seed: int,
) -> SignFlipTest | None:
    """
    Return the test of ``combine(second) - combine(first)`` for any score; None if it has no value.

    *first* and *second* give the observations of each conversation. At most ``SLOW_PERMUTATIONS`` are
    looked at.
    """
    if not any(first):
        return None
    differing = [place for place, sides in enumerate(zip(first, second, strict=True)) if sides[0] != sides[1]]
    limit = min(permutations, SLOW_PERMUTATIONS)

    def difference(swapped: NDArray[np.bool_]) -> float:
        turn = dict(zip(differing, swapped.tolist(), strict=True))
        sides: tuple[list[S], list[S]] = [], []
        for place, pair in enumerate(zip(first, second, strict=True)):
            for side, observations in zip(sides, reversed(pair) if turn.get(place) else pair, strict=True):
                side.extend(observations)
        return combine(sides[1]) - combine(sides[0])

    found = abs(difference(np.zeros(len(differing), dtype=bool)))
    if math.isnan(found):
        return None
    floor = found - _TOLERANCE * max(1.0, found)
    exact = 2 ** len(differing) <= limit
    if exact:
        swaps = _all_signs(len(differing)) < 0
    else:
        swaps = np.random.default_rng(seed).integers(0, 2, size=(limit, len(first)))[:, differing] > 0
    # A swap without a value (NaN) counts as far off: nothing says that it is not.
    hits = sum(not abs(difference(swapped)) < floor for swapped in swaps)
    return SignFlipTest(
        p=hits / len(swaps) if exact else (1 + hits) / (1 + limit),
        exact=exact,
        permutations=len(swaps),
        conversations=len(differing),
    )


def _all_signs(count: int) -> Matrix:
    """Return all rows of *count* signs: shape (2^count, count)."""
    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    signs: Matrix = np.where(bits == 1, -1.0, 1.0)
    return signs


def _hits_drawn(differences: Matrix, permutations: int, seed: int) -> NDArray[np.int64]:
    """Return how many of the drawn swaps are at least as far from 0, for each cell."""
    rng = np.random.default_rng(seed)
    hits = np.zeros(differences.shape[1], dtype=np.int64)
    for begin in range(0, permutations, _SWAPS_AT_A_TIME):
        size = (min(_SWAPS_AT_A_TIME, permutations - begin), len(differences))
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=size, dtype=np.int8)
        hits += _at_least(signs @ differences, differences).sum(axis=0)
    return hits


def _at_least(signed: Matrix, differences: Matrix) -> NDArray[np.bool_]:
    # Sums of the same numbers in another order differ in their last digits and are equal all the same.
    room = _TOLERANCE * np.maximum(1e-300, np.abs(differences).sum(axis=0))
    reached: NDArray[np.bool_] = np.abs(signed) >= np.abs(differences.sum(axis=0)) - room
    return reached
