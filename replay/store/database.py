"""
Makes and opens the SQLite file of a run; in WAL mode, so that it can be read while it is written.

Whether a run's database still holds all that was committed to it.

After a kill the last turns are in SQLite's write-ahead log beside the database, and SQLite takes the database
without a word where that file was deleted, cut or not copied along. So the writer keeps beside both, in the
file that it locks, how far its commits have come; and the database says of itself whether it was closed.

Keeps two processes from writing the same run.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from replay.core.errors import RunError
from replay.store import schema, tables

LOCK = "lock"
_LINE = 42
"""Bytes of a mark in that file."""
OPEN = "open"
"""The fact of a run that is being written, or whose program was killed at it."""


class Mark(NamedTuple):
    """How far commits have come; a later one is always greater, since turns only ever move to superseded."""

    superseded: int
    """Highest row of that table."""
    turns: int
    """Highest row of that table."""


class Missing(NamedTuple):
    """What the database no longer holds."""

    turns: int | None
    """Turns at least; None where that can't be known."""

    @property
    def sentence(self) -> str:
        """For a person."""
        if self.turns is None:
            return (
                "The run's last turns may be lost: run.db was copied while it was written, or after a kill, "
                "and without its run.db-wal, where they are. `replay resume` asks what is missing."
            )
        turns = f"{self.turns:,} turn{' is' if self.turns == 1 else 's are'} lost"
        return (
            f"{turns} that had been stored: run.db-wal was deleted or cut after the program was killed, or "
            "run.db is an older copy. `replay resume` asks what is missing."
        )


def committed_rows(connection: sqlite3.Connection) -> Mark:
    """Return how far the commits have come that *connection* sees."""
    highest = "coalesce((SELECT max(rowid) FROM {}), 0)"
    sql = f"SELECT {highest.format('superseded')}, {highest.format('turn')}"
    return Mark._make(connection.execute(sql).fetchone())


def write_mark(lock: IO[bytes], mark: Mark, writer: int = 0) -> None:
    """
    Keep *mark* in the *lock*'s file, in the line of the *writer* of that number.

    Each line has one length, so that one write is all it takes and no writer touches another one's.
    """
    lock.seek(writer * _LINE)
    lock.write(b"%020d %020d\n" % mark)


def keep_first_mark(lock: IO[bytes]) -> None:
    """Forget what other writers than the first said, who knows what is there now."""
    lock.truncate(_LINE)


def read_mark(folder: Path) -> Mark | None:
    """Return the furthest mark in *folder*; None if there is no lock file, as in a copied run."""
    try:
        text = (folder / LOCK).read_bytes()
    except OSError:
        return None
    try:
        # Lines that nobody has written yet, before one that somebody has, are zeros.
        lines = text.replace(b"\0", b"").splitlines()
        return max(Mark._make(map(int, line.split())) for line in lines)
    except (ValueError, TypeError):
        return Mark(0, 0)


def missing(mark: Mark | None, connection: sqlite3.Connection, path: Path) -> Missing | None:
    """
    Return what the database at *path* has lost; None if nothing.

    Args:
        mark: The furthest mark that writers left, read before; None if there is none.
        connection: A connection to the database.
        path: The database file.

    Raises:
        sqlite3.Error: the database can't be read.
    """
    if mark is not None:
        now = committed_rows(connection)
        if now >= mark:
            return None
        return Missing(mark.superseded - now.superseded or mark.turns - now.turns)
    log = path.with_name(f"{path.name}-wal")
    is_open = connection.execute("SELECT value FROM run WHERE key = ? AND value = 'true'", [OPEN]).fetchone()
    return Missing(None) if is_open and not (log.exists() and log.stat().st_size) else None


_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"


def make(path: Path, facts: Mapping[str, Any], *, has_turn_key: bool) -> None:
    """
    Make the folder of *path*, and there the database with *facts* in its table ``run``.

    Both are for their owner alone: all that was said is in them. What SQLite puts beside the database has its
    mode.

    Raises:
        RunError: the folder exists, or can't be made.
    """
    try:
        path.parent.mkdir(0o700, parents=True)
    except OSError as error:
        raise RunError(
            f"the run's folder \"{path.parent}\" can't be made: {error.strerror}; name another place for runs"
        ) from error
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.touch(0o600)
        with closing(connect(unfinished)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            made = tables.TABLES + (f"{tables.TURN_KEY};" if has_turn_key else "")
            connection.executescript(f"BEGIN; {made} PRAGMA user_version={tables.VERSION}; COMMIT;")
            rows = [(key, schema.to_json(value)) for key, value in {**facts, OPEN: True}.items()]
            connection.executemany("INSERT INTO run VALUES (?, ?)", rows)
        (path.parent / LOCK).touch(0o600)
        # A program that is killed before this leaves no run, rather than half of one.
        unfinished.rename(path)
    except (sqlite3.Error, OSError) as error:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise RunError(f"the run's database \"{path}\" can't be made: {error}") from error


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that any one thread at a time may use."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    connection.text_factory = schema.to_text
    # What a folder that somebody sent has beside tables (views, triggers) may call no function of ours.
    connection.execute("PRAGMA trusted_schema=OFF")
    # Called by SQLite, so that the writer's thread compresses and not the event loop's.
    connection.create_function("deflated", 1, zlib.compress, deterministic=True)
    return connection


def connect_checked(path: Path) -> sqlite3.Connection:
    """
    Return a connection to a database that was checked to exist and to have our tables.

    Raises:
        RunError: it can't be opened, is none, or is of another version.
    """
    connection = connect(path)
    try:
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as error:
        raise RunError(
            f'"{path}" can\'t be opened: {error}. SQLite has to write beside it even to read: where '
            "nobody can write, copy the run's folder to somewhere else first"
        ) from error
    except sqlite3.DatabaseError as error:
        raise RunError(f'"{path}" is not a run\'s database: {error}') from error
    if version != tables.VERSION:
        raise RunError(
            f'"{path}" has version {version}, this program reads version {tables.VERSION}; '
            f"use the convreplay that wrote it{_written_by(connection)}, or a newer one"
        )
    _check_schema(connection, path)


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """A sent file may have a view without end in a table's place; tables and indexes beside ours are idle."""
    try:
        found = set(connection.execute(_SCHEMA))
    except sqlite3.DatabaseError as error:
        raise RunError(f'"{path}" is not a run\'s database: {error}') from error
    foreign = {entry for entry in found if entry[0] not in ("table", "index")}
    for kind, name, _ in sorted(_own_schema() - found or foreign):
        raise RunError(
            f'"{path}" is not a run\'s database: its {kind} "{name}" is not what convreplay makes; it is '
            "damaged, or somebody has changed it"
        )


@cache
def _own_schema() -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(tables.TABLES)
        return frozenset(memory.execute(_SCHEMA))


def _written_by(connection: sqlite3.Connection) -> str:
    try:
        (found,) = connection.execute("SELECT value FROM run WHERE key = 'version'").fetchone()
        return f" ({schema.from_json(found, str)})"
    except (sqlite3.Error, TypeError, msgspec.MsgspecError):  # tables of another version
        return ""


WORKERS_END_S = 2.0
"""How long a run may still be held by workers of a program that was killed: some may be starting."""
_LOOK_AGAIN_S = 0.02


def lock_run(folder: Path, *, is_alone: bool = True) -> IO[bytes]:
    """
    Hold the run in *folder* for this process; the system lets go of it if we die.

    Not *is_alone*: the file is opened for a worker of the process that holds the run. Workers of one that was
    killed end some milliseconds after it, and are waited for.

    Raises:
        RunError: another process holds it, or the folder can't be written.
    """
    try:
        # Neither cut nor at its end: it holds how far the run's commits have come.
        handle = os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
    except OSError as error:
        raise RunError(
            f'the run in "{folder}" can\'t be written: {error.strerror}; to go on with it, copy the folder '
            "to where there is writing"
        ) from error
    try:
        if is_alone and os.name == "posix":
            import fcntl

            end = time.monotonic() + WORKERS_END_S
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(_LOOK_AGAIN_S)
    except OSError as error:
        handle.close()
        raise RunError(
            f'another process is writing the run in "{folder}"; wait for it, or stop it first'
        ) from error
    return handle


def unlock_run(handle: IO[bytes] | None) -> None:
    """Let another process have the run."""
    if handle is not None:
        handle.close()
