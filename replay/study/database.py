"""
The file of a study: opened by one writer or any number of readers, written a transaction at a time.

What people said and judged stands in it click by click. Each click carries an id of its own. A click that
comes again, since its confirmation was lost on the way, finds what it did the first time and does nothing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from replay.core.errors import InputError
from replay.study.schema import (
    VERSION,
    assignment_of,
    connect,
    sound,
    sound_json,
    talk_turn_of,
    task_of,
)
from replay.study.tasks import Answer, Assignment, Judgement, Rater, TalkTurn, Task

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
        if version != VERSION:
            self.close()
            raise InputError(f'"{path}" has version {version}, this program reads version {VERSION}')

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

    # Judgements --------------------------------------------------------------------------------------

    def show(self, assignment: int, step: str) -> None:
        """Note that the screen is shown now."""
        self._write("INSERT OR REPLACE INTO shown VALUES (?, ?, ?)", assignment, step, self.now())

    def was_shown(self, assignment: int, step: str) -> bool:
        return bool(self._rows("SELECT 1 FROM shown WHERE assignment = ? AND step = ?", assignment, step))

    def keep_judgement(self, click: str, assignment: int, step: str, answer: Answer, comment: str) -> bool:
        """Keep what was answered on a screen; returns False where the same *click* was kept before."""
        at = self.now()
        with self.writing():
            # A page that the browser has kept is shown again without our knowing.
            shown = self._rows(
                "SELECT at FROM shown WHERE assignment = ?1 AND step = ?2 AND at > coalesce("
                "(SELECT max(at) FROM judgement WHERE assignment = ?1 AND step = ?2), '')",
                assignment,
                step,
            )
            seconds = seconds_between(shown[0]["at"], at) if shown else None
            insert = (
                "INSERT OR IGNORE INTO judgement (click, assignment, step, answer, comment, at, seconds)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
            kept = (click, assignment, step, sound_json(answer), sound(comment), at, seconds)
            return bool(self._write(insert, *kept))

    def was_judged(self, click: str) -> bool:
        """Return whether an answer was kept by this *click*."""
        return bool(self._rows("SELECT 1 FROM judgement WHERE click = ?", click))

    def judgements(self, assignment: int | None = None) -> dict[int, dict[str, Judgement]]:
        """Return the judgements that count, by assignment and step; of one *assignment* or all."""
        where, values = ("", ()) if assignment is None else (" WHERE assignment = ?", (assignment,))
        found: dict[int, dict[str, Judgement]] = {}
        for row in self._rows(f"SELECT * FROM judgement{where} ORDER BY id", *values):
            steps = found.setdefault(row["assignment"], {})
            steps[row["step"]] = _judgement(row, steps.get(row["step"]))
        return found

    def answer_to(self, task: int) -> Answer | None:
        """
        Return what was answered last on the one screen of *task*, once it is done; None before that.

        Raises:
            KeyError: there is no such task any more.
        """
        rows = self._rows(
            "SELECT judgement.answer FROM task"
            " LEFT JOIN assignment ON assignment.task = task.id AND assignment.state = 'done'"
            " LEFT JOIN judgement ON judgement.assignment = assignment.id"
            " WHERE task.id = ? ORDER BY judgement.id DESC LIMIT 1",
            task,
        )
        if not rows:
            raise KeyError(task)
        answer: Answer | None = rows[0]["answer"] and msgspec.json.decode(rows[0]["answer"])
        return answer

    def answers_about(self, conversation: str) -> dict[int, Answer]:
        """Return by assignment what was answered last in what is done about *conversation*."""
        rows = self._rows(
            "SELECT assignment.id, judgement.answer FROM judgement"
            " JOIN assignment ON assignment.id = judgement.assignment AND assignment.state = 'done'"
            " JOIN task ON task.id = assignment.task WHERE task.conversation = ? ORDER BY judgement.id",
            conversation,
        )
        return {row["id"]: msgspec.json.decode(row["answer"]) for row in rows}

    # Talks -------------------------------------------------------------------------------------------

    def ask(self, click: str, assignment: int, depth: int, question: str) -> bool:
        """
        Keep a question before it is asked; returns False where the same *click* was kept before.

        Raises:
            sqlite3.IntegrityError: another question stands at *depth*.
        """
        with self.writing():
            if self.was_asked(click):
                return False
            self._write(
                "INSERT INTO talk_turn (assignment, depth, click, question, asked_at, passages, attempts)"
                " VALUES (?, ?, ?, ?, ?, '[]', 0)",
                assignment,
                depth,
                click,
                sound(question),
                self.now(),
            )
            return True

    def was_asked(self, click: str) -> bool:
        """Return whether a question was kept by this *click*."""
        return bool(self._rows("SELECT 1 FROM talk_turn WHERE click = ?", click))

    def take_back(self, turn: TalkTurn) -> None:
        """Take a question that failed out of its talk."""
        self._write("DELETE FROM talk_turn WHERE assignment = ? AND depth = ?", turn.assignment, turn.depth)

    def keep_turn(self, turn: TalkTurn) -> None:
        """Keep what came of a question; or, without an outcome, that it is asked again."""
        self._write(
            "UPDATE talk_turn SET outcome = ?, answer = ?, passages = ?, error = ?, attempts = ?,"
            " latency_s = ? WHERE assignment = ? AND depth = ?",
            turn.outcome,
            None if turn.answer is None else sound(turn.answer),
            sound_json(turn.passages),
            None if turn.error is None else sound(turn.error),
            turn.attempts,
            turn.latency_s,
            turn.assignment,
            turn.depth,
        )

    def talks(self, assignment: int | None = None) -> dict[int, list[TalkTurn]]:
        """Return the turns of talks by assignment, in order of depth; of one *assignment* or all."""
        where, values = ("", ()) if assignment is None else (" WHERE assignment = ?", (assignment,))
        found: dict[int, list[TalkTurn]] = {}
        for row in self._rows(f"SELECT * FROM talk_turn{where} ORDER BY assignment, depth", *values):
            found.setdefault(row["assignment"], []).append(talk_turn_of(row))
        return found


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


def _judgement(row: sqlite3.Row, before: Judgement | None) -> Judgement:
    """
    Return the judgement of a screen once *row* was saved, after the judgement *before*.

    Seconds of both are added up; the first judgement is kept when the answer changes.
    """
    plain = {name: row[name] for name in ("assignment", "step", "comment", "at", "seconds")}
    saved = Judgement(answer=msgspec.json.decode(row["answer"]), **plain)
    if before is None:
        return saved
    looks = [one for one in (before.seconds, saved.seconds) if one is not None]
    seconds = sum(looks) if looks else None
    if saved.answer == before.answer:
        return replace(before, comment=saved.comment, seconds=seconds)
    return replace(saved, seconds=seconds, first=before.first or before)
