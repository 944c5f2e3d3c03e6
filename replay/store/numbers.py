"""
Reads the numbers of a run's turns, and nothing of what was said: batches of narrow rows for statistics over
a million turns, and which turns wait for a verdict on drift that comes after them.

Texts of a batch come as the bytes that are stored, which is twice as fast where most are only compared.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from replay.core.errors import RunError
from replay.store import database, schema
from replay.store.reader import DATABASE, RunReader

BATCH = 10_000
Rows = list[tuple[Any, ...]]


class NumberReader:
    """A connection of its own to the run in *folder*; a context manager. For one thread."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / DATABASE
        self._connection = database.connect(self._path)
        self._connection.text_factory = bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def _batches(self, sql: str, values: Iterable[Any] = ()) -> Iterator[Rows]:
        try:
            cursor = self._connection.execute(sql, tuple(values))
            while rows := cursor.fetchmany(BATCH):
                yield rows
        except sqlite3.DatabaseError as error:
            raise RunError(f'"{self._path}" can\'t be read: {error}') from error

    def groups(self) -> list[tuple[str, str]]:
        """Return system and policy of all turns, each pair once; tallied turns too."""
        sql = "SELECT system, policy FROM turn UNION SELECT system, policy FROM tally"
        return [
            (schema.to_text(system), schema.to_text(policy))
            for rows in self._batches(sql)
            for system, policy in rows
        ]

    def asks(self, due_s: tuple[float, float] | None = None) -> Iterator[Rows]:
        """
        Of turns due in [from, to) only, where *due_s* says so:

        Row, scheduled_s, sent_s, first_token_s, done_s, outcome, depth, attempts, asks,
        completion_tokens, token_gaps_100us (JSON), server_times (JSON), system, policy and the conversation's
        id in the data of each turn, by row.
        """
        where = "" if due_s is None else " WHERE scheduled_s >= ? AND scheduled_s < ?"
        return self._batches(
            "SELECT rowid, scheduled_s, sent_s, first_token_s, done_s, outcome, depth, attempts, asks,"
            " completion_tokens, token_gaps_100us, server_times, system, policy,"
            " coalesce(source, conversation)"
            f" FROM turn{where} ORDER BY rowid",
            due_s or (),
        )

    def plays(self) -> Iterator[Rows]:
        """Yield row, conversation, system and policy of each turn, grouped by conversation."""
        return self._batches(
            "SELECT rowid, conversation, system, policy FROM turn"
            " ORDER BY conversation, system, policy, depth"
        )

    def scores(self, scorer: str) -> Iterator[Rows]:
        """Yield row, value (JSON) and the reason why there is none, of each turn that *scorer* looked at."""
        return self._batches(
            "SELECT t.rowid, s.value, s.unscored FROM score s"
            " JOIN turn t USING (conversation, system, policy, depth) WHERE s.scorer = ?",
            [scorer],
        )

    def error(self, row: int) -> str | None:
        """Return the error message of the failed turn in *row*; None without one."""
        for rows in self._batches("SELECT error FROM turn WHERE rowid = ?", [row]):
            return None if rows[0][0] is None else schema.to_text(rows[0][0])
        return None


class PlayLocation(NamedTuple):
    """One conversation as played by one system under one policy."""

    recorded: str
    """The conversation's id in the data."""
    conversation: str
    system: str
    policy: str


def plays_without_drift(store: RunReader, policies: Sequence[str]) -> list[PlayLocation]:
    """Return the plays under *policies* that have a turn without a verdict, in the data's order."""
    sql = (
        "SELECT DISTINCT c.id, t.conversation, t.system, t.policy FROM turn t"
        " JOIN conversation c ON c.id = coalesce(t.source, t.conversation)"
        f" WHERE t.drift IS NULL AND t.policy IN ({_marks(policies)})"
        " ORDER BY c.position, t.repeat, t.conversation, t.system, t.policy"
    )
    return [PlayLocation(*row) for row in store.rows(sql, policies)]


def count_turns(store: RunReader, policies: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return how many turns each system has under each of *policies*, and how many of them have a verdict."""
    sql = (
        f"SELECT system, policy, count(*), count(drift) FROM turn WHERE policy IN ({_marks(policies)})"
        " GROUP BY system, policy ORDER BY min(rowid)"
    )
    return {(system, policy): (turns, seen) for system, policy, turns, seen in store.rows(sql, policies)}


def first_waiting_row(store: RunReader, policies: Sequence[str], after: int) -> int | None:
    """Return the first row behind *after* of a turn under *policies* without a verdict; None for none."""
    sql = f"SELECT min(rowid) FROM turn WHERE rowid > ? AND drift IS NULL AND policy IN ({_marks(policies)})"
    ((row,),) = store.rows(sql, [after, *policies])
    return None if row is None else int(row)


def verdicts_under(store: RunReader, policies: Sequence[str]) -> Iterator[Any]:
    """
    Yield each verdict under *policies*: conversation in the data, system, policy, whether the question is
    valid (None where it was not judged), and then why.
    """
    return store.rows(
        "SELECT coalesce(source, conversation), system, policy, valid,"
        " CASE WHEN valid IS NULL THEN json_extract(drift, '$.not_judged') END"
        f" FROM turn WHERE drift IS NOT NULL AND policy IN ({_marks(policies)}) ORDER BY rowid",
        policies,
    )


def turns_under(store: RunReader, policies: Sequence[str]) -> Iterator[tuple[PlayLocation, int, bool]]:
    """Yield every turn under *policies*: its play, its depth, and whether it has a verdict."""
    sql = (
        "SELECT coalesce(source, conversation), conversation, system, policy, depth, drift IS NOT NULL"
        f" FROM turn WHERE policy IN ({_marks(policies)})"
    )
    for *place, depth, has_drift in store.rows(sql, policies):
        yield PlayLocation(*place), depth, bool(has_drift)


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
