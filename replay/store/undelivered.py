"""
What of a part, a node's own database of what it played of a run, didn't reach the program that plays the run.

A part keeps how far it did: how many rows of turns, raw replies and events were acknowledged. Its rows never
change, so that the rows of a table beyond that number are those that may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from replay.core.step import TurnPlace
from replay.store.raw_replies import COLUMNS
from replay.store.schema import SELECT_RECORDS, Row, to_bytes
from replay.store.unfinished_turns import SELECT_STEPS, place_values
from replay.store.writer import Statement

if TYPE_CHECKING:
    from replay.store.reader import RunReader

REACHED = "reached"
"""The fact of a part that holds its ``DeliveryMark``."""
RERUN_NUMBER = "rerun"
"""The fact of a part that says which rerun of the run asked its turns; 0 for none."""
_PLAY = "conversation, system, policy"


class DeliveryMark(NamedTuple):
    """How many rows of a part's tables the program has."""

    turns: int = 0
    raw: int = 0
    events: int = 0


class StepRow(NamedTuple):
    """A row of the table ``step``."""

    conversation: str
    system: str
    policy: str
    depth: int
    number: int
    asked: str
    data: str

    @property
    def place(self) -> TurnPlace:
        return self.conversation, self.system, self.policy, self.depth


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeliveredPart:
    """What one part has of that, as it stands in the database."""

    rerun: int
    rows: Sequence[Row]
    """Turns of each play of which at least one is missing, by play and depth: what is known of the first ones
    tells whether those after them go on with the same answers."""
    steps: Sequence[StepRow]
    """Of turns without a record, by turn and number."""
    raw: Sequence[tuple[Any, ...]]
    events: Sequence[tuple[str, str, str]]
    """When, kind, JSON."""


def read_undelivered(part: RunReader) -> UndeliveredPart:
    """
    What of *part* didn't reach the program.

    Raises:
        RunError: it can't be read.
    """
    turns, raw, events = part.fact(REACHED) or DeliveryMark()
    plays = "SELECT DISTINCT conversation, system, policy FROM turn WHERE rowid > ?"
    joined = f" JOIN ({plays}) USING (conversation, system, policy) ORDER BY {_PLAY}, depth"
    steps = f"SELECT {', '.join(StepRow._fields)} FROM step ORDER BY {_PLAY}, depth, number"
    return UndeliveredPart(
        rerun=part.needed(RERUN_NUMBER),
        rows=list(part.rows(SELECT_RECORDS + joined, [turns])),
        steps=[StepRow(*row) for row in part.rows(steps)],
        raw=list(part.rows(f"SELECT {COLUMNS}, data FROM raw WHERE rowid > ? ORDER BY rowid", [raw])),
        events=list(part.rows("SELECT at, kind, data FROM event WHERE id > ? ORDER BY id", [events])),
    )


def is_continued(run: RunReader, steps: Sequence[StepRow]) -> bool:
    """Whether what *run* has of a turn under way is the beginning of its *steps*."""
    there = [tuple(row) for row in run.rows(SELECT_STEPS, place_values(steps[0].place))]
    return there == [(step.asked, step.data) for step in steps[: len(there)]]


def taken_over(unreached: UndeliveredPart) -> list[Statement]:
    """Statements that keep steps, replies and events of *unreached*, each unless it is there."""
    return [
        *(
            Statement(_STEP, (to_bytes(s.conversation), *s[1:5], to_bytes(s.asked), s.data))
            for s in unreached.steps
        ),
        *(Statement(_RAW, (row[0], to_bytes(row[1]), *row[2:])) for row in unreached.raw),
        *(Statement(_EVENT, row) for row in unreached.events),
    ]


_STEP = (
    "INSERT OR IGNORE INTO step (conversation, system, policy, depth, number, asked, data)"
    " VALUES (CAST(? AS TEXT), ?, ?, ?, ?, CAST(? AS TEXT), ?)"
)
_RAW = (
    f"INSERT INTO raw ({COLUMNS}, data) SELECT ?1, CAST(?2 AS TEXT), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10"
    " WHERE NOT EXISTS (SELECT 1 FROM raw WHERE asked_at = ?1 AND conversation = CAST(?2 AS TEXT)"
    " AND system = ?3 AND policy = ?4 AND depth = ?5 AND attempt = ?6)"
)
_EVENT = (
    "INSERT INTO event (at, kind, data) SELECT ?1, ?2, ?3 WHERE NOT"
    " EXISTS (SELECT 1 FROM event WHERE kind = ?2 AND data = ?3)"
)
