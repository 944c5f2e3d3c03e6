"""
A study's database: written before anything is confirmed on a screen, by one server, read while that goes on.

Runs whose user people are add tasks meanwhile, each from a process of its own.

With what a person said goes what was made of their words: a validation of a conversation of theirs can't stay
without what it is about. Pages that SQLite has freed are overwritten (``secure_delete``), the file is written
anew, and its log is emptied; what was exported before, and copies of the file, are out of our reach.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.store.schema import to_json
from replay.study.database import StudyCache, StudyDatabase
from replay.study.schema import INSERT_TASK, PassageIndex, sound_json, task_row
from replay.study.tasks import (
    Assignment,
    AssignmentState,
    NewTask,
    Rater,
    StudyState,
    Task,
)

DATABASE = "study.db"


class StudyStore(StudyDatabase):
    """The database of one study; any thread may use it, one at a time."""

    @cached_property
    def index(self) -> PassageIndex:
        """All passages of the study's data."""
        return PassageIndex(self.path)

    def _up_to_date(self) -> StudyCache:
        # Whoever doesn't hold the study can't know what is written meanwhile.
        if self._known is None or self._held is None:
            self._known = StudyCache(self._connection)
            self._seen_version = self._data_version()
        elif (version := self._data_version()) != self._seen_version:
            self._known.read_new_tasks()
            self._seen_version = version
        return self._known

    def _data_version(self) -> int:
        """Return a number that changes with all that others write into the database."""
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return version

    def _raters_changed(self) -> None:
        """Every change of a row of ``rater`` comes by here."""
        with self._lock:
            if self._known is not None:
                self._known.read_raters()

    def _update(self, table: str, id: int, changes: Mapping[str, Any], only: str = "1") -> None:
        """Set columns of the row *id* of *table*, if the condition *only* holds of it."""
        columns = ", ".join(f"{name} = ?" for name in changes)
        self._write(f"UPDATE {table} SET {columns} WHERE id = ? AND {only}", *changes.values(), id)

    def _change(self, assignment: int, only: str = "1", **changes: Any) -> None:
        """Every change of a row of ``assignment`` comes by here."""
        if changes:
            self._update("assignment", assignment, changes, only)
        if self._known is not None:
            self._known.read_assignments(assignment)

    # What the study is -------------------------------------------------------------------------------

    def fact(self, key: str) -> Any:
        """Return the value that is stored for the study under *key*; None if there is none."""
        found = self._rows("SELECT value FROM study WHERE key = ?", key)
        return msgspec.json.decode(found[0]["value"]) if found else None

    @cached_property
    def conversations(self) -> Mapping[str, Conversation]:
        """The conversations that the study's first tasks are about, by id."""
        found = convert_to(self.fact("conversations") or [], list[Conversation])
        return {one.id: one for one in found}

    def add_conversations(self, more: Sequence[Conversation]) -> None:
        """Keep *more* conversations that tasks are about."""
        kept = [*self.conversations.values(), *more]
        self.keep_fact("conversations", msgspec.to_builtins(kept))
        self.__dict__.pop("conversations", None)  # read anew

    def keep_fact(self, key: str, value: Any) -> None:
        self._write("INSERT OR REPLACE INTO study VALUES (?, ?)", key, to_json(value))

    def add_event(self, kind: str, data: Mapping[str, Any]) -> None:
        self._write("INSERT INTO event (at, kind, data) VALUES (?, ?, ?)", self.now(), kind, sound_json(data))

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of one kind, oldest first, each with its time under ``at``."""
        rows = self._rows("SELECT at, data FROM event WHERE kind = ? ORDER BY id", kind)
        return [{"at": row["at"], **msgspec.json.decode(row["data"])} for row in rows]

    # Raters ------------------------------------------------------------------------------------------

    def raters(self) -> list[Rater]:
        """Return all raters, in the order in which they came."""
        with self._lock:
            return list(self._up_to_date().raters.values())

    def rater(self, id: int) -> Rater | None:
        # Without the lock: every request asks, on the event loop, which must not wait for a disk.
        known = self._known if self._held is not None else None
        if known is None:
            with self._lock:
                known = self._up_to_date()
        return known.raters.get(id)

    def add_rater(self, name: str, *, joined_at: str | None = None) -> Rater:
        """
        Add somebody called *name*; *joined_at* is when they came by the platform's link, if they did.

        Raises:
            InputError: somebody is called so already.
        """
        try:
            id = self._write("INSERT INTO rater (name, joined_at) VALUES (?, ?)", name, joined_at)
        except sqlite3.IntegrityError as error:
            raise InputError(f'a rater is called "{name}" already; choose another name') from error
        self._raters_changed()
        return Rater(id=id, name=name, joined_at=joined_at)

    def mark_rater(self, id: int, **changes: str | None) -> None:
        """Set columns of a rater: ``consented_at=store.now()``; of one who is erased, none."""
        self._update("rater", id, changes, "withdrawn_at IS NULL")
        self._raters_changed()

    def erase_rater(self, id: int) -> tuple[ErasureReport, bool]:
        """
        Erase what a rater did and who they are; returns how much, and whether the file's log is empty, too.

        Another program that reads the database holds on to what it sees; the log is emptied after it.
        """
        with self._lock:
            with self.writing():
                erased = erase(self._connection, id, self.now())
            self._known = None
            return erased, rewrite_database(self._connection)

    # Tasks -------------------------------------------------------------------------------------------

    def add_tasks(self, tasks: Sequence[NewTask]) -> None:
        with self.writing():
            self._connection.executemany(INSERT_TASK, map(task_row, tasks))
            if self._known is not None:
                self._known.read_new_tasks()

    def task_for(self, task: NewTask) -> int:
        """Return the id of the task of that kind that holds the same; add it, durably, if there is none."""
        with self.writing():
            row = task_row(task)
            found = self._rows("SELECT id FROM task WHERE (kind, content) = (?, ?)", *row[:2])
            return found[0]["id"] if found else self._write(INSERT_TASK, *row)

    def reserve(self, task: int, rater: int) -> None:
        """Reserve the task for *rater* alone."""
        with self.writing():
            self._write("UPDATE task SET only = ? WHERE id = ?", to_json([rater]), task)
            self._known = None

    def tasks(self) -> Mapping[int, Task]:
        """Return the tasks by id, in the order in which they were created."""
        with self._lock:
            return self._up_to_date().tasks

    def task(self, id: int) -> Task:
        return self.tasks()[id]

    # Assignments -------------------------------------------------------------------------------------

    def assignments(self, rater: int | None = None) -> list[Assignment]:
        """Return all assignments, or those of one *rater*, in the order in which they were given."""
        with self._lock:
            known = self._up_to_date()
            return list((known.assignments if rater is None else known.of_rater.get(rater, {})).values())

    def raters_per_task(self) -> Mapping[int, int]:
        """Return for each task how many raters have it open or have done it; 0 for an unknown task."""
        with self._lock:
            return self._up_to_date().given.copy()

    def assignment(self, id: int) -> Assignment | None:
        with self._lock:
            return self._up_to_date().assignments.get(id)

    def seen_open(self) -> list[tuple[Assignment, str]]:
        """Return the open assignments, each with the time at which its rater was last active in it."""
        rows = self._rows(
            "SELECT id, max(given_at,"
            " coalesce((SELECT max(at) FROM shown WHERE assignment = given.id), ''),"
            " coalesce((SELECT max(at) FROM judgement WHERE assignment = given.id), ''),"
            " coalesce((SELECT max(asked_at) FROM talk_turn WHERE assignment = given.id), '')) AS seen_at"
            " FROM assignment AS given WHERE state = 'open' ORDER BY id"
        )
        with self._lock:
            known = self._up_to_date().assignments
            return [(known[row["id"]], row["seen_at"]) for row in rows]

    def last_seen(self) -> dict[int, str]:
        """Return the time at which each rater last saw or answered something; without those who never did."""
        rows = self._rows(
            "SELECT rater, max(at) AS at FROM ("
            "SELECT id AS rater, coalesce(instructed_at, consented_at, '') AS at FROM rater"
            " UNION ALL SELECT rater, at FROM shown JOIN assignment ON id = assignment"
            " UNION ALL SELECT rater, asked_at FROM talk_turn JOIN assignment ON id = assignment)"
            " GROUP BY rater HAVING max(at) > ''"
        )
        return {row["rater"]: row["at"] for row in rows}

    def give(self, task: int, rater: int, draw: int = 0) -> Assignment:
        """
        Put *task* into the hands of *rater*, with what was drawn for them.

        Raises:
            ValueError: the rater has another one open.
        """
        at = self.now()
        try:
            insert = "INSERT INTO assignment (task, rater, state, given_at, draw) VALUES (?, ?, 'open', ?, ?)"
            id = self._write(insert, task, rater, at, draw)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"rater {rater} has a task already") from error
        self._change(id)
        return Assignment(id=id, task=task, rater=rater, state="open", given_at=at, ended_at=None, draw=draw)

    def end(self, assignment: int, state: AssignmentState, reason: str | None = None) -> None:
        """Take it out of its rater's hands, if it is still open."""
        self._change(assignment, "state = 'open'", state=state, ended_at=self.now(), reason=reason)

    def reopen(self, assignment: int) -> None:
        """Put what was given back into its rater's hands again."""
        self._change(assignment, state="open", ended_at=None, reason=None)

    def discard(self, assignment: int, reason: str | None = None) -> None:
        """Discard a finished assignment, so that somebody else may be given its task."""
        self._change(assignment, "state = 'done'", state="discarded", reason=reason)

    def restore(self, assignment: int) -> None:
        """Count again an assignment that was discarded without a reason of its own."""
        self._change(assignment, "state = 'discarded' AND reason IS NULL", state="done")

    def end_talk(self, assignment: int) -> None:
        self._change(assignment, talk_ended=True)

    # All of it ---------------------------------------------------------------------------------------

    def state(self, *, lazily: bool = False) -> StudyState:
        """
        Return all that results are made of, as it is now.

        *lazily* reads what was said and judged only where it is looked for, which has to be within the
        transaction that asked.
        """
        with self._lock, self._reading():
            known = self._up_to_date()
            return StudyState(
                raters=list(known.raters.values()),
                tasks=known.tasks,
                assignments=list(known.assignments.values()),
                answers=_Later(self.judgements) if lazily else self.judgements(),
                talks=_Later(self.talks) if lazily else self.talks(),
                conversations=self.conversations,
            )


class _Later(Mapping[int, Any]):
    """What *read* gives for all assignments; read for one where only one is asked for."""

    def __init__(self, read: Callable[..., Mapping[int, Any]]) -> None:
        self._read = read
        self._all: Mapping[int, Any] | None = None

    def __getitem__(self, assignment: int) -> Any:
        return (self._read(assignment) if self._all is None else self._all)[assignment]

    def _whole(self) -> Mapping[int, Any]:
        self._all = self._read() if self._all is None else self._all
        return self._all

    def __iter__(self) -> Iterator[int]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())


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
