"""
Two sides on the same turns: two runs, two policies or two systems, with tests beside the intervals.

A turn is compared if both sides have a score for it and both asked about the same thing: the same
recorded question with the same gold answers. Everything else is counted and left out. Several plays of a turn
are one: their mean.

Many tests at once: the more is looked at, the stricter.

With twenty comparisons of equal systems, one p-value below .05 is to be expected. Holm's step-down
procedure (Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
Statistics 6, 1979) keeps the chance of even one such false finding below the level, whatever the
comparisons have to do with each other, and never has less power than Bonferroni's.

Of a comparison, totals and depths are two families, each corrected for itself. A total is what most readers
ask for, and its p-value does not depend on whether the depths are shown beside it; so a text without
depths, one with them and a page say the same. The chance of even one false finding is below the level among
the totals, and once more among the depths.

scipy has no step-down procedure; statsmodels, which gives the same, takes 3 s to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from replay.core.record import TurnRecord
from replay.scorers.observing import combine
from replay.scorers.scorer import SHARE, lower_is_better
from replay.statistics.estimate import Resampling
from replay.statistics.interval import IntervalMethod
from replay.statistics.paired import DifferenceRow, PairedCell, Turn, paired_cells, scored_turns
from replay.statistics.resampling import (
    PERMUTATIONS,
    SignFlipTest,
    WeightBlocks,
    sign_flip,
    sign_flip_means,
    sums_and_counts,
)
from replay.statistics.score_column import Positions, ScoreColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSide:
    """What one system did under one policy in one run."""

    records: Sequence[TurnRecord]
    """Each turn once."""
    scores: Mapping[str, ScoreColumn]
    """Columns over *records*, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSettings:
    """How differences are judged."""

    by_depth: bool = False
    flip_at: float = 0.5
    """A turn flips where its score is below this on one side only."""
    resamples: int = 1000
    permutations: int = PERMUTATIONS
    seed: int = 0
    confidence: float = 0.95
    method: IntervalMethod = "t"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """The comparison at one depth, or over all."""

    difference: DifferenceRow
    first: float | None
    """The first side's score of the common turns; None without any, as are the others."""
    second: float | None
    test: SignFlipTest | None
    bootstrap_p: float | None
    """Twice the share of resampled differences on the far side of 0; None of fewer than two conversations."""
    adjusted_p: float | None = None
    """The permutation test's p-value after Holm's correction; see ``replay.statistics.comparison``."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **self.difference.to_json(),
            "first": self.first,
            "second": self.second,
            "p": self.test and self.test.p,
            "p_holm": self.adjusted_p,
            "p_bootstrap": self.bootstrap_p,
            "permutations": self.test and self.test.permutations,
            "exact": self.test and self.test.exact,
            "differing_conversations": self.test and self.test.conversations,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A turn that one side got right and the other wrong."""

    conversation: str
    depth: int
    recorded: str
    first: float
    second: float
    first_answer: str | None
    second_answer: str | None

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One score of two sides."""

    score: str
    unit: str
    """What it counts in; ``share`` is read in per cent."""
    lower_is_better: bool
    rows: tuple[ComparedRow, ...]
    """The depths with a common turn, if they were asked for; last, all depths together."""
    one_sided: int
    """Turns with a score on one side only, left out."""
    unlike: int
    """Turns scored on both sides whose question or gold answers differ, left out."""
    flips: tuple[Flip, ...] | None
    """By conversation and depth; None for a score that is no share of a turn."""

    @property
    def percent(self) -> bool:
        """Return whether people read the score in per cent; it is kept as a share in any case."""
        return self.unit == SHARE

    def won(self, flip: Flip) -> bool:
        """Return whether the second side got the turn right."""
        return (flip.second > flip.first) != self.lower_is_better

    @property
    def total(self) -> ComparedRow:
        """All depths together."""
        return self.rows[-1]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; the row of all depths has depth null."""
        return {
            "score": self.score,
            "unit": self.unit,
            "lower_is_better": self.lower_is_better,
            "one_sided": self.one_sided,
            "unlike": self.unlike,
            "rows": [row.to_json() for row in self.rows],
            "flips": None if self.flips is None else [flip.to_json() for flip in self.flips],
        }


def compare_sides(
    first: ComparisonSide, second: ComparisonSide, scores: Sequence[str], settings: ComparisonSettings
) -> list[Comparison]:
    """
    Return *second* minus *first* in each of *scores*, without Holm's correction.

    Conversations of which both sides have a record are resampled and swapped, the same for all scores.
    """
    known = [{record.recorded_conversation for record in side.records} for side in (first, second)]
    place = {conversation: position for position, conversation in enumerate(sorted(known[0] & known[1]))}
    records = [*first.records, *second.records]
    drawn = Resampling(
        clusters=[place.get(record.recorded_conversation, -1) for record in records],
        weights=WeightBlocks(len(place), resamples=settings.resamples, seed=settings.seed),
        confidence=settings.confidence,
        method=settings.method,
    )
    found = []
    for name in scores:
        before, after = first.scores[name], second.scores[name]
        column = ScoreColumn(scorer=before.scorer, observed=[*before.observed, *after.observed])
        column, ours = scored_turns(column, records, range(len(first.records)))
        column, theirs = scored_turns(column, records, range(len(first.records), len(records)))
        sides = (ours, theirs)
        one_sided = len(sides[0].keys() ^ sides[1].keys())
        unlike = {t for t in sides[0].keys() & sides[1].keys() if not _alike(records, sides, t)}
        for turn in unlike:
            del sides[0][turn], sides[1][turn]
        cells = paired_cells(column, *sides, drawn)
        rows = _rows(column, cells if settings.by_depth else cells[-1:], drawn, settings)
        found.append(
            Comparison(
                score=name,
                unit=column.unit,
                lower_is_better=lower_is_better(column.scorer),
                rows=tuple(rows),
                one_sided=one_sided,
                unlike=len(unlike),
                flips=_flips(column, records, sides, settings.flip_at),
            )
        )
    return found


Sides = tuple[dict[Turn, int], dict[Turn, int]]


def _alike(records: Sequence[TurnRecord], sides: Sides, turn: Turn) -> bool:
    one, other = (records[side[turn]] for side in sides)
    is_whole = one.edit == other.edit == "simulated"
    return is_whole or (one.recorded, one.gold_answers) == (other.recorded, other.gold_answers)


def _rows(
    column: ScoreColumn, cells: Sequence[PairedCell], drawn: Resampling, settings: ComparisonSettings
) -> list[ComparedRow]:
    return [
        ComparedRow(
            difference=cell.row,
            first=cell.values[0],
            second=cell.values[1],
            test=test,
            bootstrap_p=None if cell.row.conversations < 2 else bootstrap_p(cell.resampled),
        )
        for cell, test in zip(cells, _tests(column, cells, drawn, settings), strict=True)
    ]


def _tests(
    column: ScoreColumn, cells: Sequence[PairedCell], drawn: Resampling, settings: ComparisonSettings
) -> Sequence[SignFlipTest | None]:
    clusters, count = drawn.clusters, drawn.weights.clusters
    chance = {"permutations": settings.permutations, "seed": settings.seed}
    if column.is_mean:
        before, _ = sums_and_counts(column, [cell.first for cell in cells], clusters, count)
        after, _ = sums_and_counts(column, [cell.second for cell in cells], clusters, count)
        found = sign_flip_means(after - before, **chance)
        return [test if cell.first else None for test, cell in zip(found, cells, strict=True)]
    return [
        sign_flip(
            _by_conversation(column, cell.first, clusters, count),
            _by_conversation(column, cell.second, clusters, count),
            partial(combine, column.scorer),
            **chance,
        )
        for cell in cells
    ]


def _by_conversation(
    column: ScoreColumn, cell: Sequence[int], clusters: Positions, count: int
) -> list[list[Any]]:
    found: list[list[Any]] = [[] for _ in range(count)]
    for index in cell:
        found[clusters[index]].append(column.observed[index])
    return found


def bootstrap_p(differences: NDArray[np.float64]) -> float | None:
    """Return the two-sided p-value, never 0; None without a resample (Efron & Tibshirani, 1993, ch. 15)."""
    known = differences[~np.isnan(differences)]
    if not len(known):
        return None
    room = 1e-12
    sides = int((known <= room).sum()), int((known >= -room).sum())
    return min(1.0, 2 * (1 + min(sides)) / (1 + len(known)))


def _flips(
    column: ScoreColumn, records: Sequence[TurnRecord], sides: Sides, flip_at: float
) -> tuple[Flip, ...] | None:
    if not column.is_mean or column.unit != SHARE:
        return None
    flips = []
    for turn in sorted(sides[0].keys() & sides[1].keys()):
        one, other = (side[turn] for side in sides)
        before, after = float(column.observed[one]), float(column.observed[other])
        if (before < flip_at) != (after < flip_at):
            flips.append(
                Flip(
                    conversation=turn[0],
                    depth=records[one].depth,
                    recorded=records[one].recorded,
                    first=before,
                    second=after,
                    first_answer=records[one].answer,
                    second_answer=records[other].answer,
                )
            )
    return tuple(flips)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return *p_values* adjusted by Holm's method, in their order: in (0, 1], never smaller than before."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)
    # The smallest is held against as many tests as there are, the next against one less, and so on.
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1)
    in_order: list[float] = adjusted.tolist()
    return in_order


def correct_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """
    Return *comparisons* corrected over all their totals, and over all their depths.

    A row that could not be tested has no p-value and doesn't count.
    """
    rows = [row for one in comparisons for row in one.rows]
    totals = _adjusted_p_values([row for row in rows if row.difference.depth is None])
    depths = _adjusted_p_values([row for row in rows if row.difference.depth is not None])

    def with_p(row: ComparedRow) -> ComparedRow:
        if row.test is None:
            return row
        return replace(row, adjusted_p=next(totals if row.difference.depth is None else depths))

    return [replace(one, rows=tuple(map(with_p, one.rows))) for one in comparisons]


def _adjusted_p_values(rows: Sequence[ComparedRow]) -> Iterator[float]:
    """Yield the corrected p-values of those of *rows* that were tested."""
    return iter(holm([row.test.p for row in rows if row.test]))
