"""
Scores of many cells of a load run, with intervals, and how much less they are than at the first level.

The same numbers as ``replay.statistics.estimate`` gives, from columns instead of one object for each turn:
a score that is a mean is a few sums over arrays, whatever the number of turns. As everywhere, conversations
of the data are resampled, with all their plays; level and first level see the same resample, so that their
difference is paired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.scorers.scorer import Scorer, Unscored
from replay.statistics.bootstrap import Matrix, resampled_means
from replay.statistics.estimate import Estimate, estimate_cells, resampled_values
from replay.statistics.interval import Interval, interval
from replay.statistics.score_column import ScoreColumn

Cell = NDArray[np.intp]
"""Positions of turns."""

_BLOCK = 5_000_000
"""Entries of a matrix of weights that are held at a time."""
_MOST_OBSERVATIONS = 50_000_000
"""Conversations times resamples up to which scores that are no means have intervals; they need all weights
at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a scorer whose score is a mean observed, turn by turn."""

    values: NDArray[np.float64]
    """NaN where there is none."""
    reason: NDArray[np.integer[Any]]
    """Position in ``reasons`` where there is no value, else -1."""
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellScores:
    """One score of every cell."""

    estimates: list[Estimate]
    drops: list[Estimate | None]
    """First value minus this cell's; None where there is nothing to compare with."""


def mean_scores(
    observed: Observed,
    cells: Sequence[Cell],
    firsts: Sequence[int | None],
    *,
    recorded: NDArray[np.integer[Any]],
    recorded_count: int,
    resamples: int,
    seed: int,
    confidence: float = 0.95,
) -> CellScores:
    """
    The means of *observed* over *cells*; *firsts* gives the cell that each is to be compared with.

    *recorded* is each turn's conversation in the data, of which there are *recorded_count*.
    """
    sums = np.zeros((recorded_count, len(cells)))
    counts = np.zeros_like(sums)
    facts = []
    for position, cell in enumerate(cells):
        values, places = observed.values[cell], recorded[cell]
        known = ~np.isnan(values)
        sums[:, position] = np.bincount(places[known], values[known], minlength=recorded_count)
        counts[:, position] = np.bincount(places[known], minlength=recorded_count)
        facts.append((int(known.sum()), values[known], _reasons(observed, cell[~known])))
    resampled = np.vstack(
        [np.empty((0, len(cells)))]
        + [resampled_means(sums, counts, w) for w in weight_blocks(recorded_count, resamples, seed)]
    )
    conversations = (counts > 0).sum(axis=0)
    estimates = [
        _estimate(
            float(values.mean()) if scored else None,
            resampled[:, position],
            scored=scored,
            conversations=int(conversations[position]),
            unscored=unscored,
            confidence=confidence,
        )
        for position, (scored, values, unscored) in enumerate(facts)
    ]
    return CellScores(estimates=estimates, drops=_drops(estimates, resampled, firsts, confidence))


def other_scores(
    scorer: Scorer[Any],
    observed: Sequence[Any],
    cells: Sequence[Cell],
    firsts: Sequence[int | None],
    *,
    recorded: NDArray[np.integer[Any]],
    recorded_count: int,
    resamples: int,
    seed: int,
    confidence: float = 0.95,
) -> CellScores:
    """The same for a *scorer* of another kind, from one object for each turn."""
    if recorded_count * resamples > _MOST_OBSERVATIONS:
        resamples = 0
    weights = np.vstack(
        [np.empty((0, recorded_count)), *weight_blocks(recorded_count, resamples, seed)],
    )
    column = ScoreColumn(scorer=scorer, observed=observed)
    indices = [cell.tolist() for cell in cells]
    clusters = recorded.tolist()
    estimates = estimate_cells(column, indices, clusters=clusters, weights=weights, confidence=confidence)
    scored = [[index for index in cell if column.is_scored(index)] for cell in indices]
    compared = {i for pair in enumerate(firsts) if pair[1] is not None for i in pair if i is not None}
    resampled = resampled_values(
        column,
        [cell if i in compared else [] for i, cell in enumerate(scored)],
        clusters=clusters,
        weights=weights,
    )
    return CellScores(estimates=estimates, drops=_drops(estimates, resampled, firsts, confidence))


def weight_blocks(clusters: int, resamples: int, seed: int) -> Iterator[Matrix]:
    """The rows of ``replay.statistics.bootstrap.cluster_weights``, as many at a time as memory is to hold."""
    if not clusters:
        yield np.zeros((resamples, 0))
        return
    rng = np.random.default_rng(seed)
    at_a_time = max(1, _BLOCK // clusters)
    for begin in range(0, resamples, at_a_time):
        rows = min(at_a_time, resamples - begin)
        yield rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=rows).astype(np.float64)


def _reasons(observed: Observed, unscored: Cell) -> dict[str, int]:
    counts = np.bincount(observed.reason[unscored], minlength=len(observed.reasons))
    return {reason: int(n) for reason, n in sorted(zip(observed.reasons, counts, strict=True)) if n}


def _estimate(
    value: float | None,
    resampled: NDArray[np.float64],
    *,
    scored: int,
    conversations: int,
    unscored: dict[str, int],
    confidence: float,
) -> Estimate:
    ends = interval(
        resampled, method="percentile", confidence=confidence, conversations=conversations, estimate=value
    )
    return Estimate(
        value=value,
        low=ends.low if isinstance(ends, Interval) else None,
        high=ends.high if isinstance(ends, Interval) else None,
        scored=scored,
        conversations=conversations,
        unscored=unscored,
        no_interval=None if isinstance(ends, Interval) else ends.reason,
    )


def _drops(
    estimates: Sequence[Estimate], resampled: Matrix, firsts: Sequence[int | None], confidence: float
) -> list[Estimate | None]:
    drops: list[Estimate | None] = []
    for position, first in enumerate(firsts):
        if first is None or (before := estimates[first]).value is None:
            drops.append(None)
            continue
        now = estimates[position]
        drops.append(
            _estimate(
                None if now.value is None else before.value - now.value,
                resampled[:, first] - resampled[:, position],
                scored=now.scored,
                conversations=min(before.conversations, now.conversations),
                unscored={},
                confidence=confidence,
            )
        )
    return drops


def as_observed(observed: Sequence[float | Unscored]) -> Observed:
    """Values and reasons one by one as columns."""
    reasons: Counter[str] = Counter(one.reason for one in observed if isinstance(one, Unscored))
    places = {reason: place for place, reason in enumerate(reasons)}
    return Observed(
        values=np.array(
            [np.nan if isinstance(one, Unscored) else float(one) for one in observed], dtype=np.float64
        ),
        reason=np.array(
            [places[one.reason] if isinstance(one, Unscored) else -1 for one in observed], dtype=np.int32
        ),
        reasons=tuple(places),
    )
