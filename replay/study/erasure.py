"""
Takes all out of a study's database that a person said in it, and who they are.

What was made of their words goes with it: a validation of a conversation of theirs can't stay without what it
is about. Pages that SQLite has freed are overwritten (``secure_delete``), the file is written anew, and its
log is emptied; what was exported before, and copies of the file, are out of our reach.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import msgspec

from replay.store.schema import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """How much was taken out."""

    assignments: int
    """The rater's own."""
    tasks: int
    """Made of what the rater had said."""
    of_others: int
    """Assignments of other raters, of those tasks."""


def erase(connection: sqlite3.Connection, rater: int, at: str) -> ErasureReport:
    """Erase what *rater* did, within a transaction; the row that stays has a number and no name."""
    own = {id for (id,) in connection.execute("SELECT id FROM assignment WHERE rater = ?", (rater,))}
    gone, tasks = set(own), set[int]()
    sources = [
        (id, set(msgspec.json.decode(of))) for id, of in connection.execute("SELECT id, sources FROM task")
    ]
    # A task may come of a task that came of theirs.
    while found := {id for id, of in sources if of & gone} - tasks:
        tasks |= found
        gone |= {id for id, task in connection.execute("SELECT id, task FROM assignment") if task in tasks}
    alone = connection.execute("SELECT id FROM task WHERE only = ?", (to_json([rater]),))
    undone = {id for (id,) in alone} - {
        task for id, task in connection.execute("SELECT id, task FROM assignment") if id not in gone
    }
    for table in _tables_with(connection, "assignment"):
        _delete(connection, table, "assignment", gone)
    _delete(connection, "assignment", "id", gone)
    _delete(connection, "task", "id", tasks | undone)
    for id, data in connection.execute("SELECT id, data FROM event").fetchall():
        about = msgspec.json.decode(data)
        if about.get("rater") == rater or about.get("assignment") in gone:
            connection.execute("DELETE FROM event WHERE id = ?", (id,))
    cleared = [
        column for column in _columns(connection, "rater") if column not in ("id", "name", "withdrawn_at")
    ]
    connection.execute(
        f"UPDATE rater SET name = ?, withdrawn_at = ?, {', '.join(f'{one} = NULL' for one in cleared)} "
        "WHERE id = ?",
        (f"withdrawn-{rater}", at, rater),
    )
    erased = ErasureReport(assignments=len(own), tasks=len(tasks), of_others=len(gone - own))
    connection.execute(
        "INSERT INTO event (at, kind, data) VALUES (?, 'withdrawal', ?)", (at, to_json(erased))
    )
    return erased


def rewrite_database(connection: sqlite3.Connection) -> bool:
    """
    Leave nothing of what was deleted in the database's files.

    Returns:
        Whether its log is empty; not while another program reads an earlier state in it.
    """
    connection.execute("VACUUM")
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _tables_with(connection: sqlite3.Connection, column: str) -> list[str]:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [name for name in names if column in _columns(connection, name)]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row["name"] for row in connection.execute(f"PRAGMA table_info({table})")]


def _delete(connection: sqlite3.Connection, table: str, column: str, values: set[int]) -> None:
    connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(value,) for value in sorted(values)])
