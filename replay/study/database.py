"""The file of a study: opened by one writer or any number of readers, written a transaction at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from replay.core.errors import InputError
from replay.study import schema
from replay.study.cache import StudyCache
from replay.study.schema import connect


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
