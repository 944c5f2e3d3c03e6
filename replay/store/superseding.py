"""
What happens in the database when turns are asked again: they move to the table ``superseded``, and what
was found out about their answers goes.

The statements belong into one transaction with the new record, so that a run that is killed there has
the old turn or the new one, never both and never none.

Scores, verdicts and checks that are made again stay beside the earlier ones until they are complete, then
take their place in one transaction: a program that is killed, or a disk that is full, half-way leaves the
earlier ones.

They wait in temporary tables of the writer's connection, which go with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from replay.core.record import TurnRecord
from replay.store import schema
from replay.store.writer import Statement

_COLUMNS = ", ".join(schema.RECORD_COLUMNS)
_WHERE = "conversation = CAST(? AS TEXT) AND system = ? AND policy = ? AND depth BETWEEN ? AND ?"
_LAST_DEPTH = 2**62
SELECT_SUPERSEDED = f"SELECT superseded_at, reason, {_COLUMNS} FROM superseded ORDER BY rowid"


class RowRange(NamedTuple):
    """Some turns of one conversation as played by one system under one policy."""

    conversation: str
    system: str
    policy: str
    first: int = 1
    last: int | None = None
    """Depths from ``first`` to ``last``, both included; None to the conversation's end."""

    def values(self, *, to_end: bool = False) -> tuple[Any, ...]:
        """Return the values for the placeholders of the WHERE clause."""
        last = _LAST_DEPTH if to_end or self.last is None else self.last
        return schema.to_bytes(self.conversation), self.system, self.policy, self.first, last


class SupersededTurn(NamedTuple):
    """A turn as it was before it was asked again."""

    at: str
    """UTC, ISO 8601."""
    reason: str
    record: TurnRecord


def supersede(
    span: RowRange, *, at: str, reason: str, scorers: Iterable[str], judges: Iterable[str]
) -> list[Statement]:
    """
    Return the statements that put aside the turns in *span*; it may hold none.

    *scorers* and *judges* are the names in the tables of scores and verdicts. What they, and checks, found
    in later turns of the conversation and at its end goes as well: a judge may have seen the answers before.
    """
    later = span.values(to_end=True)
    moved = f"INSERT INTO superseded (superseded_at, reason, {_COLUMNS}) SELECT ?, ?, {_COLUMNS} FROM turn"
    return [
        Statement(f"{moved} WHERE {_WHERE} ORDER BY depth", (at, reason, *span.values())),
        Statement(f"DELETE FROM turn WHERE {_WHERE}", span.values()),
        Statement(f"DELETE FROM ending WHERE {_WHERE}", later),
        Statement(f"DELETE FROM checked WHERE {_WHERE}", later),
        Statement(f"DELETE FROM step WHERE {_WHERE}", span.values()),
        *(Statement(f"DELETE FROM score WHERE scorer = ? AND {_WHERE}", (name, *later)) for name in scorers),
        *(Statement(f"DELETE FROM verdict WHERE judge = ? AND {_WHERE}", (name, *later)) for name in judges),
    ]


def superseded_turn(row: tuple[Any, ...]) -> SupersededTurn:
    """Return the superseded turn in a row of ``SELECT_SUPERSEDED``."""
    at, reason, *record = row
    return SupersededTurn(at, reason, schema.row_record(record))


BEGIN = tuple(
    Statement(sql, ())
    for table in ("score", "verdict", "checked")
    for sql in (
        f"DROP TABLE IF EXISTS temp.new_{table}",
        f"CREATE TEMP TABLE new_{table} AS SELECT * FROM {table} WHERE 0",
    )
)


def publish_staged(scorers: Iterable[str], judge: str | None, *, checks: bool) -> Iterator[Statement]:
    """Yield statements that replace the results of *scorers*, *judge* and *checks* by the staged ones."""
    for scorer in scorers:
        yield Statement("DELETE FROM score WHERE scorer = ?", [scorer])
    yield Statement("DELETE FROM verdict WHERE judge = ?", [judge])
    if checks:
        yield Statement("DELETE FROM checked", ())
    for table in ("score", "verdict", "checked"):
        yield Statement(f"INSERT OR REPLACE INTO main.{table} SELECT * FROM temp.new_{table}", ())
        yield Statement(f"DROP TABLE temp.new_{table}", ())
