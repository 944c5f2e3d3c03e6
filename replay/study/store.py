"""
A study's database: written before anything is confirmed on a screen, by one server, read while that goes on.

Each click carries an id of its own. A click that comes again, since its confirmation was lost on the way,
finds what it did the first time and does nothing.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.store.schema import to_json
from replay.study import schema
from replay.study.erasure import Erased, erase, write_anew
from replay.study.known import Known
from replay.study.passages import TABLES as PASSAGE_TABLES, PassageIndex, keep_passages
from replay.study.schema import connect, sound, talk_turn_of, task_row
from replay.study.steps import Answer
from replay.study.tasks import (
    Assignment,
    AssignmentState,
    Judgement,
    NewTask,
    Rater,
    StudyState,
    TalkTurn,
    Task,
)

DATABASE = "study.db"


def utc_now() -> datetime:
    return datetime.now(UTC)


class StudyStore:
    """The database of one study; any thread may use it, one at a time."""

    def __init__(self, path: Path, *, write: bool = False, clock: Callable[[], datetime] = utc_now) -> None:
        """
        Open the study at *path*, to *write* it or only to read.

        Raises:
            InputError: there is none, it is of another version, or another process writes it.
        """
        if not path.is_file():
            raise InputError(f'there is no study at "{path}"; `replay study serve STUDY.yaml` begins one')
        self.path = path
        self.index = PassageIndex(path)
        self._clock = clock
        self._lock = threading.RLock()
        self._known: Known | None = None
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

    @classmethod
    def make(
        cls,
        path: Path,
        facts: Mapping[str, Any],
        raters: Sequence[str],
        tasks: Sequence[NewTask],
        conversations: Sequence[Conversation] = (),
    ) -> None:
        """
        Make the database of a new study at *path*, with *facts*, *raters* (ids from 1) and *tasks*.

        Of *conversations* the passages are kept.

        Raises:
            InputError: it can't be made.
        """
        unfinished = path.with_name(f"{path.name}.unfinished")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.unlink(missing_ok=True)
            unfinished.touch(0o600)
            with closing(connect(unfinished)) as connection:
                connection.executescript(
                    f"BEGIN; {schema.TABLES} {PASSAGE_TABLES} PRAGMA user_version={schema.VERSION}; COMMIT;"
                )
                kept = {**facts, "secret": secrets.token_hex(32)}
                connection.executemany(
                    "INSERT INTO study VALUES (?, ?)", [(key, to_json(value)) for key, value in kept.items()]
                )
                connection.executemany("INSERT INTO rater (name) VALUES (?)", [(name,) for name in raters])
                connection.execute("BEGIN")
                connection.executemany(schema.INSERT_TASK, map(task_row, tasks))
                keep_passages(connection, conversations)
                connection.execute("COMMIT")
            # A program that is killed before this leaves no study, rather than half of one.
            unfinished.rename(path)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"the study's database \"{path}\" can't be made: {error}") from error

    def close(self) -> None:
        self._connection.close()
        if self._held is not None:
            self._held.close()

    def now(self) -> str:
        """UTC, ISO 8601, to the millisecond."""
        return self._clock().isoformat(timespec="milliseconds")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All that is written in the block is durable when it ends, or none of it; blocks may be nested."""
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

    def _up_to_date(self) -> Known:
        # Whoever doesn't hold the study can't know what is written meanwhile.
        if self._known is None or self._held is None:
            self._known = Known(self._connection)
        return self._known

    def _raters_changed(self) -> None:
        """Every change of a row of ``rater`` comes by here."""
        with self._lock:
            if self._known is not None:
                self._known.read_raters()

    def _changed(self, assignment: int) -> None:
        """Every change of a row of ``assignment`` comes by here."""
        if self._known is not None:
            self._known.read_assignments(assignment)

    # What the study is -------------------------------------------------------------------------------

    def fact(self, key: str) -> Any:
        """What the study says of itself under *key*; None if nothing."""
        found = self._rows("SELECT value FROM study WHERE key = ?", key)
        return msgspec.json.decode(found[0]["value"]) if found else None

    @cached_property
    def conversations(self) -> Mapping[str, Conversation]:
        """Those that the study's first tasks are about, by id."""
        found = msgspec.convert(self.fact("conversations") or [], list[Conversation])
        return {one.id: one for one in found}

    def keep_fact(self, key: str, value: Any) -> None:
        self._write("INSERT OR REPLACE INTO study VALUES (?, ?)", key, to_json(value))

    def add_event(self, kind: str, data: Mapping[str, Any]) -> None:
        self._write(
            "INSERT INTO event (at, kind, data) VALUES (?, ?, ?)", self.now(), kind, sound(to_json(data))
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Those of one kind, oldest first, each with its moment under ``at``."""
        rows = self._rows("SELECT at, data FROM event WHERE kind = ? ORDER BY id", kind)
        return [{"at": row["at"], **msgspec.json.decode(row["data"])} for row in rows]

    # Raters ------------------------------------------------------------------------------------------

    def raters(self) -> list[Rater]:
        """All, in the order in which they came."""
        with self._lock:
            return list(self._up_to_date().raters.values())

    def rater(self, id: int) -> Rater | None:
        # Without the lock: every request asks, on the event loop, which must not wait for a disk.
        known = self._known if self._held is not None else None
        if known is None:
            with self._lock:
                known = self._up_to_date()
        return known.raters.get(id)

    def add_rater(self, name: str) -> Rater:
        """
        Raises:
            InputError: somebody is called so already.
        """
        try:
            id = self._write("INSERT INTO rater (name) VALUES (?)", name)
        except sqlite3.IntegrityError as error:
            raise InputError(f'a rater is called "{name}" already; choose another name') from error
        self._raters_changed()
        return Rater(id=id, name=name)

    def mark_rater(self, id: int, **changes: str | None) -> None:
        """Set columns of a rater: ``consented_at=store.now()``; of one who is erased, none."""
        columns = ", ".join(f"{name} = ?" for name in changes)
        self._write(
            f"UPDATE rater SET {columns} WHERE id = ? AND withdrawn_at IS NULL", *changes.values(), id
        )
        self._raters_changed()

    def erase_rater(self, id: int) -> tuple[Erased, bool]:
        """
        Erase what a rater did and who they are; returns how much, and whether the file's log is empty, too.

        Another program that reads the database holds on to what it sees; the log is emptied after it.
        """
        with self._lock:
            with self.writing():
                erased = erase(self._connection, id, self.now())
            self._known = None
            return erased, write_anew(self._connection)

    # Tasks -------------------------------------------------------------------------------------------

    def add_tasks(self, tasks: Sequence[NewTask]) -> None:
        with self.writing():
            self._connection.executemany(schema.INSERT_TASK, map(task_row, tasks))
            if self._known is not None:
                self._known.read_new_tasks()

    def tasks(self) -> Mapping[int, Task]:
        """By id, in the order in which they were made."""
        with self._lock:
            return self._up_to_date().tasks

    def task(self, id: int) -> Task:
        return self.tasks()[id]

    # Assignments -------------------------------------------------------------------------------------

    def assignments(self, rater: int | None = None) -> list[Assignment]:
        """All, or those of one *rater*, in the order in which they were given."""
        with self._lock:
            known = self._up_to_date()
            return list((known.assignments if rater is None else known.of_rater.get(rater, {})).values())

    def given(self) -> Mapping[int, int]:
        """By task: in how many hands it is, or was until it was done; 0 for one that isn't there."""
        with self._lock:
            return self._up_to_date().given.copy()

    def assignment(self, id: int) -> Assignment | None:
        with self._lock:
            return self._up_to_date().assignments.get(id)

    def seen_open(self) -> list[tuple[Assignment, str]]:
        """Those that are open, each with the moment at which its rater was last seen at it."""
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

    def seen(self) -> dict[int, str]:
        """When each rater last looked at something or answered it; those who never did are missing."""
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
            id = self._write(
                "INSERT INTO assignment (task, rater, state, given_at, draw) VALUES (?, ?, 'open', ?, ?)",
                task,
                rater,
                at,
                draw,
            )
        except sqlite3.IntegrityError as error:
            raise ValueError(f"rater {rater} has a task already") from error
        self._changed(id)
        return Assignment(id=id, task=task, rater=rater, state="open", given_at=at, ended_at=None, draw=draw)

    def end(self, assignment: int, state: AssignmentState, reason: str | None = None) -> None:
        """Take it out of its rater's hands, if it is still open."""
        self._write(
            "UPDATE assignment SET state = ?, ended_at = ?, reason = ? WHERE id = ? AND state = 'open'",
            state,
            self.now(),
            reason,
            assignment,
        )
        self._changed(assignment)

    def reopen(self, assignment: int) -> None:
        """Put what was given back into its rater's hands again."""
        self._write(
            "UPDATE assignment SET state = 'open', ended_at = NULL, reason = NULL WHERE id = ?", assignment
        )
        self._changed(assignment)

    def end_talk(self, assignment: int) -> None:
        self._write("UPDATE assignment SET talk_ended = 1 WHERE id = ?", assignment)
        self._changed(assignment)

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
            shown = self._rows("SELECT at FROM shown WHERE assignment = ? AND step = ?", assignment, step)
            seconds = _seconds(shown[0]["at"], at) if shown else None
            return bool(
                self._write(
                    "INSERT OR IGNORE INTO judgement (click, assignment, step, answer, comment, at, seconds)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    click,
                    assignment,
                    step,
                    sound(to_json(answer)),
                    sound(comment),
                    at,
                    seconds,
                )
            )

    def judgements(self, assignment: int | None = None) -> dict[int, dict[str, Judgement]]:
        """By assignment and step, the last of each; of one *assignment* or all."""
        where, values = ("", ()) if assignment is None else (" WHERE assignment = ?", (assignment,))
        found: dict[int, dict[str, Judgement]] = {}
        for row in self._rows(f"SELECT * FROM judgement{where} ORDER BY id", *values):
            found.setdefault(row["assignment"], {})[row["step"]] = Judgement(
                assignment=row["assignment"],
                step=row["step"],
                answer=msgspec.json.decode(row["answer"]),
                comment=row["comment"],
                at=row["at"],
                seconds=row["seconds"],
            )
        return found

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
        """Whether a question was kept by this *click*."""
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
            sound(to_json(turn.passages)),
            None if turn.error is None else sound(turn.error),
            turn.attempts,
            turn.latency_s,
            turn.assignment,
            turn.depth,
        )

    def talks(self, assignment: int | None = None) -> dict[int, list[TalkTurn]]:
        """By assignment, in order of depth; of one *assignment* or all."""
        where, values = ("", ()) if assignment is None else (" WHERE assignment = ?", (assignment,))
        found: dict[int, list[TalkTurn]] = {}
        for row in self._rows(f"SELECT * FROM talk_turn{where} ORDER BY assignment, depth", *values):
            found.setdefault(row["assignment"], []).append(talk_turn_of(row))
        return found

    # All of it ---------------------------------------------------------------------------------------

    def state(self, *, lazily: bool = False) -> StudyState:
        """
        All that results are made of, as it is now.

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

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What is read in the block is of one moment, whatever another process writes."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()


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


def _seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
