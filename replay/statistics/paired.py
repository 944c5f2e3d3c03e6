"""
Differences between two policies or two systems on the same turns.

Two policies fail on different turns and filter out different ones, so the difference of their table
entries mixes the policies' effect with that of other turns. Here both sides are scored on the turns
that both have a score for, and whole conversations are resampled for both at once, so that what makes a
conversation hard drops out of the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.bootstrap import Matrix, cluster_weights
from replay.statistics.estimate import conversation_clusters, resampled_values
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.interval import Interval, IntervalMethod, interval
from replay.statistics.jackknife import jackknifed_values
from replay.statistics.score_column import ScoreColumn, check_columns

Turn = tuple[str, int]
"""Conversation and depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """The difference at one depth, or over all."""

    depth: int | None
    """None for all depths together."""
    turns: int
    """Turns that both sides have a score for."""
    conversations: int
    """Conversations with such a turn."""
    value: float | None
    """Second minus first; None without a common turn."""
    low: float | None
    high: float | None
    """The interval; None with fewer than two conversations, or for *no_interval*."""
    no_interval: str | None = None
    """Why there is no interval; None if there is one."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; of all depths together, depth is null."""
        return {
            "depth": self.depth,
            "turns": self.turns,
            "conversations": self.conversations,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "no_interval": self.no_interval,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """By how much the second group's score differs from the first's on the same turns."""

    score: str
    unit: str
    """What the score counts in: ``share``, ``s``, ``tokens``, ... or nothing."""
    first: Group
    second: Group
    depths: tuple[DifferenceRow, ...]
    """The depths that have a common turn."""
    total: DifferenceRow
    unpaired: int
    """Turns with a score on one side only, left out."""

    @property
    def percent(self) -> bool:
        """Whether people read the difference in per cent; it is kept as one of shares in any case."""
        return self.unit == SHARE

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; the row of all depths has depth null."""
        return {
            "score": self.score,
            "unit": self.unit,
            "first": {"system": self.first.system, "policy": self.first.policy},
            "second": {"system": self.second.system, "policy": self.second.policy},
            "unpaired": self.unpaired,
            "rows": [row.to_json() for row in (*self.depths, self.total)],
        }


def paired_difference(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    score: str,
    *,
    first: Group,
    second: Group,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    method: IntervalMethod = "percentile",
) -> PairedDifference:
    """
    *second* minus *first* in the score called *score*, by depth and in all.

    *scores* are columns over *records*. With the same records, resamples and seed the resampled
    conversations are those of the depth table.

    Raises:
        ValueError: a column doesn't fit the records, or a turn is recorded twice for a group.
    """
    check_columns(records, scores)
    clusters, conversations = conversation_clusters(records)
    weights = cluster_weights(conversations, resamples=resamples, seed=seed)
    return _paired(records, scores[score], score, (first, second), clusters, weights, confidence, method)


def policy_gaps(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    *,
    baseline: str = "gold",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    method: IntervalMethod = "percentile",
) -> list[PairedDifference]:
    """
    For each system that has the *baseline* policy, each of its other policies minus it, in every score.

    In the order of the depth table; empty if no system has both. Raises as ``paired_difference`` does.
    """
    check_columns(records, scores)
    clusters, conversations = conversation_clusters(records)
    weights = cluster_weights(conversations, resamples=resamples, seed=seed)
    groups = groups_in_order(map(group_of, records))
    return [
        _paired(records, column, name, (first, second), clusters, weights, confidence, method)
        for second in groups
        if second.policy != baseline and (first := Group(second.system, baseline)) in groups
        for name, column in scores.items()
    ]


def _paired(
    records: Sequence[TurnRecord],
    column: ScoreColumn,
    score: str,
    sides: tuple[Group, Group],
    clusters: Sequence[int],
    weights: Matrix,
    confidence: float,
    method: IntervalMethod,
) -> PairedDifference:
    first, second = (_scored_turns(records, column, group) for group in sides)
    rows = difference_rows(
        column, first, second, clusters=clusters, weights=weights, confidence=confidence, method=method
    )
    return PairedDifference(
        score=score,
        unit=column.unit,
        first=sides[0],
        second=sides[1],
        depths=tuple(rows[:-1]),
        total=rows[-1],
        unpaired=len(first.keys() ^ second.keys()),
    )


def common_turns(
    first: Mapping[Turn, int], second: Mapping[Turn, int]
) -> list[tuple[int | None, list[Turn]]]:
    """Each depth that both sides have a turn of, with those turns; last, under None, all of them."""
    common = sorted(first.keys() & second.keys())
    depths = [*sorted({depth for _, depth in common}), None]
    return [(depth, [turn for turn in common if depth in (turn[1], None)]) for depth in depths]


def difference_rows(
    column: ScoreColumn,
    first: Mapping[Turn, int],
    second: Mapping[Turn, int],
    *,
    clusters: Sequence[int],
    weights: Matrix,
    confidence: float,
    method: IntervalMethod,
) -> list[DifferenceRow]:
    """
    *second* minus *first* for each entry of ``common_turns``.

    The sides say where in *column* their turns are, all of them scored; *clusters* gives each place's
    conversation as a column of *weights*.
    """
    rows = []
    turns = common_turns(first, second)
    differences, left_out = _differences(column, first, second, clusters, weights, method)
    for position, (depth, keys) in enumerate(turns):
        before, after = (column.value([side[key] for key in keys]) for side in (first, second))
        value = None if before is None or after is None else after - before
        conversations = len({conversation for conversation, _ in keys})
        ends = interval(
            differences[:, position],
            method=method,
            confidence=confidence,
            conversations=conversations,
            estimate=value,
            jackknifed=None if left_out is None else left_out[:, position],
        )
        rows.append(
            DifferenceRow(
                depth=depth,
                turns=len(keys),
                conversations=conversations,
                value=value,
                low=ends.low if isinstance(ends, Interval) else None,
                high=ends.high if isinstance(ends, Interval) else None,
                no_interval=None if isinstance(ends, Interval) else ends.reason,
            )
        )
    return rows


def _differences(
    column: ScoreColumn,
    first: Mapping[Turn, int],
    second: Mapping[Turn, int],
    clusters: Sequence[int],
    weights: Matrix,
    method: IntervalMethod,
) -> tuple[Matrix, Matrix | None]:
    """The rows' differences in each resample, and, for BCa, without each conversation."""
    cells = [
        [side[turn] for turn in turns] for side in (first, second) for _, turns in common_turns(first, second)
    ]
    half = len(cells) // 2
    resampled = resampled_values(column, cells, clusters=clusters, weights=weights)
    left_out = None
    if method == "bca" and len(weights):
        values = jackknifed_values(column, cells, clusters=clusters, count=weights.shape[1])
        left_out = values[:, half:] - values[:, :half]
    return resampled[:, half:] - resampled[:, :half], left_out


def _scored_turns(records: Sequence[TurnRecord], column: ScoreColumn, group: Group) -> dict[Turn, int]:
    """Where the group's scored turns are, by conversation and depth."""
    return {
        (record.conversation, record.depth): index
        for index, record in enumerate(records)
        if group_of(record) == group and column.is_scored(index)
    }
