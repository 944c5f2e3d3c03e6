"""
The file of a study: opened by one writer or any number of readers, written a transaction at a time, erased.

With what a person said goes what was made of their words: a validation of a conversation of theirs can't stay
without what it is about. Pages that SQLite has freed are overwritten (``secure_delete``), the file is written
anew, and its log is emptied; what was exported before, and copies of the file, are out of our reach.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from replay.core.errors import InputError
from replay.store.schema import to_json
from replay.study import schema
from replay.study.schema import assignment_of, connect, task_of
from replay.study.tasks import Assignment, Rater, Task

RATER = ", ".join(field.name for field in fields(Rater))


class StudyCache:
    """
    The tasks and assignments of a database, each read once.

    Every click asks for them, and reading a study of 5,000 assignments takes longer than all else that a
    click does.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tasks: dict[int, Task] = {}
        """Never changed but replaced, since other threads may be looking through it."""
        self.assignments: dict[int, Assignment] = {}
        self.of_rater: dict[int, dict[int, Assignment]] = defaultdict(dict)
        self.given: Counter[int] = Counter()
        """By task: in how many hands it is, or was until it was done."""
        self.raters: dict[int, Rater] = {}
        """Never changed but replaced, so that who asks can be told without waiting for whoever writes."""
        self.read_raters()
        self.read_new_tasks()
        self.read_assignments()

    def read_raters(self) -> None:
        rows = self._connection.execute(f"SELECT {RATER} FROM rater ORDER BY id")
        self.raters = {row["id"]: Rater(**dict(row)) for row in rows}

    def read_new_tasks(self) -> None:
        last = max(self.tasks, default=0)
        rows = self._connection.execute("SELECT * FROM task WHERE id > ? ORDER BY id", (last,))
        self.tasks = {**self.tasks, **{row["id"]: task_of(row) for row in rows}}

    def read_assignments(self, id: int | None = None) -> None:
        """Read the one that has changed, or all."""
        for row in self._connection.execute(
            "SELECT * FROM assignment WHERE id = ?1 OR ?1 IS NULL ORDER BY id", (id,)
        ):
            self._know(assignment_of(row))

    def _know(self, one: Assignment) -> None:
        before = self.assignments.get(one.id)
        self.given[one.task] += one.counts - (before is not None and before.counts)
        self.assignments[one.id] = self.of_rater[one.rater][one.id] = one


def utc_now() -> datetime:
    return datetime.now(UTC)


def seconds_between(earlier: str, later: str) -> float | None:
    """Return the seconds from one moment of a database to another; None if the clock was set back between."""
    seconds = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    return seconds if seconds >= 0 else None


class StudyDatabase:
    """A connection to the database of one study; any thread may use it, one at a time."""

    def __init__(self, path: Path, *, write: bool = False, clock: Callable[[], datetime] = utc_now) -> None:
        """
        Open the study at *path*, to *write* it or only to read.

        Raises:
            InputError: there is none, it is of another version, or another process writes it.
        """
        if not path.is_file():
            raise InputError(f'there is no study at "{path}"; `replay study serve STUDY.yaml` begins one')
        self.path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._known: StudyCache | None = None
        self._seen_version = 0
        self._held = _hold(path) if write else None
        self._connection = connect(path)
        try:
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            self.close()
            raise InputError(f'"{path}" is not a study\'s database: {error}') from error
        if version != schema.VERSION:
            self.close()
            raise InputError(f'"{path}" has version {version}, this program reads version {schema.VERSION}')

    def close(self) -> None:
        self._connection.close()
        if self._held is not None:
            self._held.close()

    def now(self) -> str:
        """Return the current time in UTC as ISO 8601, to the millisecond."""
        return self._clock().isoformat(timespec="milliseconds")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """
        Commit all that is written in the block when it ends, or nothing on an error; blocks may be nested.
        """
        with self._lock:
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.commit()
            except BaseException:
                self._connection.rollback()
                self._known = None
                raise

    def _rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def _write(self, statement: str, *values: Any) -> int:
        """Returns the new row's id, or how many rows were changed."""
        with self.writing():
            done = self._connection.execute(statement, values)
            return done.lastrowid or 0 if statement.startswith("INSERT") else done.rowcount

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Read everything in the block from one moment, whatever another process writes meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()


def _hold(path: Path) -> IO[bytes]:
    """Hold the study at *path* for this process; the system lets go of it if we die."""
    handle = os.fdopen(os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        raise InputError(f'another process serves the study "{path}"; end that one first') from error
    return handle


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
