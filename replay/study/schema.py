"""
The tables of a study's database: making them, how what is in them becomes rows and comes back, and erasing.

With what a person said goes what was made of their words: a validation of a conversation of theirs can't stay
without what it is about. Pages that SQLite has freed are overwritten (``secure_delete``), the file is written
anew, and its log is emptied; what was exported before, and copies of the file, are out of our reach.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.store.schema import to_json
from replay.study.passages import TABLES as PASSAGE_TABLES, keep_passages
from replay.study.tasks import Assignment, NewTask, TalkTurn, Task

VERSION = 1
"""Kept in ``PRAGMA user_version``; raised with every change of a table."""

TABLES = """
CREATE TABLE study (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL              -- JSON
) STRICT;
CREATE TABLE rater (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    joined_at TEXT,                  -- by the platform's link, the name being their id there
    declined_at TEXT,
    consent_version TEXT,
    consent_text TEXT,               -- as it was shown
    consented_at TEXT,               -- all times UTC, ISO 8601
    instructed_at TEXT,
    qualified_at TEXT,
    failed_at TEXT,                  -- practice failed for good
    stopped_at TEXT,                 -- too many attention items were wrong
    finished_at TEXT,                -- their code was shown
    left_at TEXT,
    withdrawn_at TEXT
) STRICT;
CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a form that is still open must not meet another's number
    kind TEXT NOT NULL,
    content TEXT NOT NULL,           -- JSON
    conversation TEXT NOT NULL,
    system TEXT,
    raters INTEGER,                  -- NULL: everyone
    only TEXT,                       -- JSON list of raters; NULL: all
    never TEXT NOT NULL,             -- JSON list of raters
    unseen INTEGER NOT NULL,
    round INTEGER NOT NULL,
    practice TEXT,                   -- JSON, the right answers; NULL: real work
    attention INTEGER NOT NULL,      -- such an item among the work
    sources TEXT NOT NULL            -- JSON list of assignments, with which it is erased
) STRICT;
CREATE TABLE assignment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL,
    rater INTEGER NOT NULL,
    state TEXT NOT NULL,
    given_at TEXT NOT NULL,
    ended_at TEXT,
    reason TEXT,
    talk_ended INTEGER NOT NULL DEFAULT 0,
    draw INTEGER NOT NULL            -- for what is shown in an order of this rater's own
) STRICT;
CREATE UNIQUE INDEX assignment_open ON assignment (rater) WHERE state = 'open';
CREATE TABLE judgement (
    id INTEGER PRIMARY KEY,
    click TEXT NOT NULL UNIQUE,
    assignment INTEGER NOT NULL,
    step TEXT NOT NULL,
    answer TEXT NOT NULL,            -- JSON, by field
    comment TEXT NOT NULL,
    at TEXT NOT NULL,
    seconds REAL                     -- since the screen was last shown
) STRICT;
CREATE INDEX judgement_of ON judgement (assignment);
CREATE TABLE shown (
    assignment INTEGER NOT NULL,
    step TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (assignment, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE talk_turn (
    assignment INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    click TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    outcome TEXT,                    -- NULL as long as an answer is waited for
    answer TEXT,
    passages TEXT NOT NULL,          -- JSON list, as retrieved
    error TEXT,
    attempts INTEGER NOT NULL,
    latency_s REAL,
    PRIMARY KEY (assignment, depth)
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL               -- JSON
) STRICT;
"""

COLUMNS = tuple(one.name for one in fields(NewTask))
NESTED = ("content", "only", "never", "practice", "sources")
"""Columns of a task that hold JSON."""
INSERT_TASK = f"INSERT INTO task ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA journal_mode=WAL")
    # What a person takes back must not stay in pages that the file no longer uses.
    connection.execute("PRAGMA secure_delete=ON")
    # A click is confirmed once it would survive a loss of power.
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def sound(text: str) -> str:
    """Return *text* without lone surrogates, which a server can send and SQLite doesn't take."""
    return text.encode("utf-8", "replace").decode()


def sound_json(value: Any) -> str:
    """Return the JSON text of *value*, without lone surrogates, which no reader of ours would take."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return sound(json.dumps(msgspec.to_builtins(value), ensure_ascii=False))


def task_row(task: NewTask) -> tuple[Any, ...]:
    """Return the values for ``INSERT_TASK``."""
    values = {name: getattr(task, name) for name in COLUMNS}
    nested = {name: sound_json(values[name]) for name in NESTED if values[name] is not None}
    return tuple({**values, **nested}.values())


def task_of(row: sqlite3.Row) -> Task:
    nested = {name: msgspec.json.decode(row[name]) for name in NESTED if row[name] is not None}
    flags = {key: bool(row[key]) for key in ("unseen", "attention")}
    return convert_to({**dict(row), **nested, **flags}, Task)


def assignment_of(row: sqlite3.Row) -> Assignment:
    return Assignment(**{**dict(row), "talk_ended": bool(row["talk_ended"])})


def talk_turn_of(row: sqlite3.Row) -> TalkTurn:
    return convert_to({**dict(row), "passages": msgspec.json.decode(row["passages"])}, TalkTurn)


def make_study(
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
                f"BEGIN; {TABLES} {PASSAGE_TABLES} PRAGMA user_version={VERSION}; COMMIT;"
            )
            kept = {**facts, "secret": secrets.token_hex(32)}
            connection.executemany(
                "INSERT INTO study VALUES (?, ?)", [(key, to_json(value)) for key, value in kept.items()]
            )
            connection.executemany("INSERT INTO rater (name) VALUES (?)", [(name,) for name in raters])
            connection.execute("BEGIN")
            connection.executemany(INSERT_TASK, map(task_row, tasks))
            keep_passages(connection, conversations)
            connection.execute("COMMIT")
        # A program that is killed before this leaves no study, rather than half of one.
        unfinished.rename(path)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"the study's database \"{path}\" can't be made: {error}") from error


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
