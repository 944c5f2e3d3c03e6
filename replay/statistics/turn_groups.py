"""
Scores by what the data say of a question: of which kind it is, and how far back lies what it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from replay.core.record import TurnRecord
from replay.statistics.estimate import Estimate, Sampling, estimate_cells, resampling
from replay.statistics.group import Group, group_of, groups_in_order
from replay.statistics.score_column import ScoreColumn, check_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnGroupRow:
    """The turns with one label, of one system under one policy."""

    label: str
    group: Group
    turns: int
    """Turns asked: answered or failed."""
    scores: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnGroups:
    """A run's turns in groups; those of which the data say nothing are in none."""

    by: str
    """What the labels are: ``kind``, ``sessions back`` or ``turns back``."""
    rows: tuple[TurnGroupRow, ...]
    """Label by label, and in each by system and policy."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "by": self.by,
            "rows": [
                {
                    "label": row.label,
                    "system": row.group.system,
                    "policy": row.group.policy,
                    "turns": row.turns,
                    "scores": {name: score.to_json() for name, score in row.scores.items()},
                }
                for row in self.rows
            ],
        }


_Label = tuple[int, str]
"""What labels are ordered by, and how they read."""


def _range(distance: int | None) -> _Label | None:
    """Return the range that *distance* is in: 0, 1, 2 to 3, 4 to 7 and so on."""
    if distance is None:
        return None
    first = 2 ** (distance.bit_length() - 1) if distance else 0
    return first, str(first) if first < 2 else f"{first} to {2 * first - 1}"


_LABELS: Mapping[str, Callable[[TurnRecord], _Label | None]] = {
    "kind": lambda record: (0, record.kind) if record.kind else None,
    "sessions back": lambda record: _range(record.sessions_back),
    "turns back": lambda record: _range(record.turns_back),
}


def turn_groups(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    **sampling: Unpack[Sampling],
) -> tuple[TurnGroups, ...]:
    """
    Return the groups of *records* by each thing that the data say of any of them.

    Args:
        records: All turns of the run; skipped ones count nowhere.
        scores: Columns over *records*.
        sampling: How intervals are made.

    Raises:
        ValueError: A column doesn't fit the records.
    """
    check_columns(records, scores)
    order = sorted(range(len(records)), key=lambda i: (records[i].conversation, records[i].depth))
    found: list[tuple[str, _Label, Group]] = []
    cells: dict[tuple[str, _Label, Group], list[int]] = {}
    groups = groups_in_order(map(group_of, records))
    for by, label_of in _LABELS.items():
        for index in order:
            record = records[index]
            if record.outcome != "skipped" and (label := label_of(record)) is not None:
                cells.setdefault((by, label, group_of(record)), []).append(index)
        found += sorted(
            (key for key in cells if key[0] == by), key=lambda key: (key[1], groups.index(key[2]))
        )
    if not found:
        return ()
    ids = [record.recorded_conversation for record in records]
    drawn = resampling(ids, **sampling)
    placed = [cells[key] for key in found]
    estimates = {name: estimate_cells(column, placed, drawn)[0] for name, column in scores.items()}
    rows = [
        (
            by,
            TurnGroupRow(
                label=label,
                group=group,
                turns=len(placed[position]),
                scores={name: estimates[name][position] for name in scores},
            ),
        )
        for position, (by, (_, label), group) in enumerate(found)
    ]
    return tuple(
        TurnGroups(by=by, rows=tuple(row for of, row in rows if of == by))
        for by in dict.fromkeys(by for by, _ in rows)
    )
