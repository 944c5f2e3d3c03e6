"""
Two sides on the same turns: two runs, two policies or two systems, with tests beside the intervals.

A turn is compared if both sides have a score for it and both asked about the same thing: the same
recorded question with the same gold answers. Everything else is counted and left out. Several plays of a turn
are one: see ``turn_means.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from replay.core.record import TurnRecord
from replay.scorers.observing import combine
from replay.scorers.scorer import SHARE, lower_is_better
from replay.statistics.bootstrap import WeightBlocks
from replay.statistics.estimate import Resampling
from replay.statistics.interval import IntervalMethod
from replay.statistics.jackknife import sums_and_counts
from replay.statistics.paired import DifferenceRow, PairedCell, paired_cells
from replay.statistics.score_column import Positions, ScoreColumn
from replay.statistics.sign_flip import PERMUTATIONS, SignFlipTest, sign_flip, sign_flip_means
from replay.statistics.turn_means import Turn, scored_turns


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
    """The permutation test's p-value after Holm's correction; see ``replay.statistics.holm``."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
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
        """Plain values for JSON."""
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
        """Plain values for JSON; the row of all depths has depth null."""
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
    *second* minus *first* in each of *scores*, without Holm's correction; see ``replay.statistics.holm``.

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
    return (one.recorded, one.gold_answers) == (other.recorded, other.gold_answers)


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
    """Two-sided, never 0; None without a resample (Efron & Tibshirani, 1993, chapter 15)."""
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
                    depth=turn[1],
                    recorded=records[one].recorded,
                    first=before,
                    second=after,
                    first_answer=records[one].answer,
                    second_answer=records[other].answer,
                )
            )
    return tuple(flips)
