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

from replay.record import TurnRecord
from replay.statistics.bootstrap import Matrix, cluster_weights, percentile_interval
from replay.statistics.estimate import conversation_clusters, resampled_values
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.score_column import ScoreColumn, check_columns


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
    """The interval; None with fewer than two conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """By how much the second group's score differs from the first's on the same turns."""

    score: str
    percent: bool
    first: Group
    second: Group
    depths: tuple[DifferenceRow, ...]
    """The depths that have a common turn."""
    total: DifferenceRow
    unpaired: int
    """Turns with a score on one side only, left out."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; the row of all depths has depth null."""
        return {
            "score": self.score,
            "first": {"system": self.first.system, "policy": self.first.policy},
            "second": {"system": self.second.system, "policy": self.second.policy},
            "unpaired": self.unpaired,
            "rows": [
                {
                    "depth": row.depth,
                    "turns": row.turns,
                    "conversations": row.conversations,
                    "value": row.value,
                    "low": row.low,
                    "high": row.high,
                }
                for row in (*self.depths, self.total)
            ],
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
    return _paired(records, scores[score], score, (first, second), clusters, weights, confidence)


def policy_gaps(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    *,
    baseline: str = "gold",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
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
        _paired(records, column, name, (first, second), clusters, weights, confidence)
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
) -> PairedDifference:
    first, second = (_scored_turns(records, column, group) for group in sides)
    common = sorted(first.keys() & second.keys())
    depths = sorted({depth for _, depth in common})
    turns = [[key for key in common if depth in (key[1], None)] for depth in (*depths, None)]
    cells = [[side[key] for key in keys] for side in (first, second) for keys in turns]
    resampled = resampled_values(column, cells, clusters=clusters, weights=weights)

    rows = []
    for position, (depth, keys) in enumerate(zip((*depths, None), turns, strict=True)):
        before, after = (column.value([side[key] for key in keys]) for side in (first, second))
        conversations = len({conversation for conversation, _ in keys})
        differences = resampled[:, len(turns) + position] - resampled[:, position]
        interval = percentile_interval(differences, confidence) if conversations > 1 else None
        rows.append(
            DifferenceRow(
                depth=depth,
                turns=len(keys),
                conversations=conversations,
                value=None if before is None or after is None else after - before,
                low=interval[0] if interval else None,
                high=interval[1] if interval else None,
            )
        )
    return PairedDifference(
        score=score,
        percent=column.percent,
        first=sides[0],
        second=sides[1],
        depths=tuple(rows[:-1]),
        total=rows[-1],
        unpaired=len(first.keys() ^ second.keys()),
    )


def _scored_turns(
    records: Sequence[TurnRecord], column: ScoreColumn, group: Group
) -> dict[tuple[str, int], int]:
    """Where the group's scored turns are, by conversation and depth."""
    return {
        (record.conversation, record.depth): index
        for index, record in enumerate(records)
        if group_of(record) == group and column.is_scored(index)
    }
