"""
Two sides on the same turns: two runs, two policies or two systems, with tests beside the intervals.

A turn is compared if both sides have a score for it and both asked about the same thing: the same
recorded question with the same gold answers. Everything else is counted and left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.bootstrap import Matrix, cluster_weights
from replay.statistics.estimate import resampled_values
from replay.statistics.interval import IntervalMethod
from replay.statistics.jackknife import sums_and_counts
from replay.statistics.multiple import holm
from replay.statistics.paired import DifferenceRow, Turn, common_turns, difference_rows
from replay.statistics.score_column import ScoreColumn
from replay.statistics.sign_flip import PERMUTATIONS, SignFlipTest, sign_flip, sign_flip_means


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one system did under one policy in one run."""

    records: Sequence[TurnRecord]
    """Each turn once."""
    scores: Mapping[str, ScoreColumn]
    """Columns over *records*, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """The comparison at one depth, or over all."""

    difference: DifferenceRow
    first: float | None
    """The first side's score of the common turns; None without any, as are the others."""
    second: float | None
    test: SignFlipTest | None
    bootstrap_p: float | None
    """Twice the share of resampled differences on the far side of 0; None where there is no interval."""
    adjusted_p: float | None = None
    """The permutation test's p-value after Holm's correction over the whole table."""

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
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One score of two sides."""

    score: str
    unit: str
    """What it counts in; ``share`` is read in per cent."""
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
        """Whether people read the score in per cent; it is kept as a share in any case."""
        return self.unit == SHARE

    @property
    def total(self) -> ComparedRow:
        """All depths together."""
        return self.rows[-1]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; the row of all depths has depth null."""
        return {
            "score": self.score,
            "unit": self.unit,
            "one_sided": self.one_sided,
            "unlike": self.unlike,
            "rows": [row.to_json() for row in self.rows],
            "flips": None if self.flips is None else [flip.to_json() for flip in self.flips],
        }


def compare_sides(
    first: Side,
    second: Side,
    scores: Sequence[str],
    *,
    by_depth: bool = True,
    flip_at: float = 0.5,
    resamples: int = 1000,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    confidence: float = 0.95,
    method: IntervalMethod = "percentile",
) -> list[Comparison]:
    """
    *second* minus *first* in each of *scores*, without Holm's correction; see ``corrected``.

    Conversations of which both sides have a record are resampled and swapped, the same for all scores.
    A turn flips where its score is below *flip_at* on one side only.
    """
    known = [{record.recorded_conversation for record in side.records} for side in (first, second)]
    conversations = sorted(known[0] & known[1])
    weights = cluster_weights(len(conversations), resamples=resamples, seed=seed)
    place = {conversation: position for position, conversation in enumerate(conversations)}
    records = [*first.records, *second.records]
    clusters = [place.get(record.recorded_conversation, -1) for record in records]
    found = []
    for name in scores:
        before, after = first.scores[name], second.scores[name]
        column = ScoreColumn(scorer=before.scorer, observed=[*before.observed, *after.observed])
        sides = (
            _scored(column, records, range(len(first.records))),
            _scored(column, records, range(len(first.records), len(records))),
        )
        unlike = {t for t in sides[0].keys() & sides[1].keys() if not _alike(records, sides, t)}
        sides = tuple({t: i for t, i in side.items() if t not in unlike} for side in sides)  # type: ignore[assignment]
        rows = _rows(column, sides, clusters, weights, (permutations, seed, confidence, method))
        found.append(
            Comparison(
                score=name,
                unit=column.unit,
                rows=tuple(rows if by_depth else rows[-1:]),
                one_sided=len(sides[0].keys() ^ sides[1].keys()),
                unlike=len(unlike),
                flips=_flips(column, records, sides, flip_at),
            )
        )
    return found


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """*comparisons* with Holm's correction over all their rows: the more is looked at, the stricter."""
    adjusted = iter(holm([row.test.p if row.test else None for one in comparisons for row in one.rows]))
    return [
        replace(one, rows=tuple(replace(row, adjusted_p=next(adjusted)) for row in one.rows))
        for one in comparisons
    ]


Sides = tuple[dict[Turn, int], dict[Turn, int]]


def _scored(column: ScoreColumn, records: Sequence[TurnRecord], places: range) -> dict[Turn, int]:
    return {(records[i].conversation, records[i].depth): i for i in places if column.is_scored(i)}


def _alike(records: Sequence[TurnRecord], sides: Sides, turn: Turn) -> bool:
    one, other = (records[side[turn]] for side in sides)
    return (one.recorded, one.gold_answers) == (other.recorded, other.gold_answers)


def _rows(
    column: ScoreColumn,
    sides: Sides,
    clusters: Sequence[int],
    weights: Matrix,
    settings: tuple[int, int, float, IntervalMethod],
) -> list[ComparedRow]:
    permutations, seed, confidence, method = settings
    differences = difference_rows(
        column, *sides, clusters=clusters, weights=weights, confidence=confidence, method=method
    )
    turns = [keys for _, keys in common_turns(*sides)]
    cells = [[[side[turn] for turn in keys] for keys in turns] for side in sides]
    tests = _tests(column, cells[0], cells[1], clusters, weights.shape[1], permutations, seed)
    resampled = [resampled_values(column, some, clusters=clusters, weights=weights) for some in cells]
    return [
        ComparedRow(
            difference=difference,
            first=column.value(cells[0][position]),
            second=column.value(cells[1][position]),
            test=tests[position],
            bootstrap_p=None
            if difference.conversations < 2
            else _bootstrap_p(resampled[1][:, position] - resampled[0][:, position]),
        )
        for position, difference in enumerate(differences)
    ]


def _tests(
    column: ScoreColumn,
    first: Sequence[Sequence[int]],
    second: Sequence[Sequence[int]],
    clusters: Sequence[int],
    count: int,
    permutations: int,
    seed: int,
) -> Sequence[SignFlipTest | None]:
    if column.is_mean:
        before, _ = sums_and_counts(column, first, clusters, count)
        after, _ = sums_and_counts(column, second, clusters, count)
        found = sign_flip_means(after - before, permutations=permutations, seed=seed)
        return [test if cell else None for test, cell in zip(found, first, strict=True)]
    return [
        sign_flip(
            _by_conversation(column, one, clusters, count),
            _by_conversation(column, other, clusters, count),
            column.scorer.combine,
            permutations=permutations,
            seed=seed,
        )
        for one, other in zip(first, second, strict=True)
    ]


def _by_conversation(
    column: ScoreColumn, cell: Sequence[int], clusters: Sequence[int], count: int
) -> list[list[Any]]:
    found: list[list[Any]] = [[] for _ in range(count)]
    for index in cell:
        found[clusters[index]].append(column.observed[index])
    return found


def _bootstrap_p(differences: Matrix) -> float | None:
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
