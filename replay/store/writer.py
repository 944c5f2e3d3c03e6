"""
The one thread of a process that writes to a run's database, with group commit.

Everything that queued up while the last commit ran goes into the next one, so that under load one
commit carries many records, and at rest one record waits for nothing but its own. Records that are
written in the same turn of the event loop are handed over together, and their writers woken together:
a thread's wake-up costs more than a row.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, NamedTuple

from replay.core.errors import RunError
from replay.store.database import committed_rows, connect, keep_first_mark, write_mark
from replay.store.schema import Row, insert_records

CHECKPOINT_PAGES = 4000


class Statement(NamedTuple):
    """What to execute, and the values for its places."""

    sql: str
    values: Sequence[Any]


@dataclass(slots=True)
class _Records:
    """Rows of records that were written in one turn of *loop*, and who waits for them."""

    loop: asyncio.AbstractEventLoop
    rows: list[Row]
    durable: list[asyncio.Future[None]]
    before: Sequence[Statement] = ()
    """To be executed first, in the same transaction."""


@dataclass(frozen=True, slots=True)
class _Transaction:
    """Statements of one transaction."""

    statements: Sequence[Statement]


_Item = _Transaction | _Records


class Writer:
    """Takes statements from the event loop's thread, and from others, in order."""

    def __init__(self, path: Path, *, synchronous: str, lock: IO[bytes], number: int = 0) -> None:
        """*lock* is the open file that holds how far commits have come, *number* which writer this is."""
        self._path = path
        self._inode: int = path.stat().st_ino
        self._lock = lock
        self._number = number
        self._is_first_commit = True
        self._synchronous = synchronous
        self._queue: SimpleQueue[_Item | threading.Event] = SimpleQueue()
        self._gathering: _Records | None = None
        self._failure: RunError | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="run-writer", daemon=True)
        self._thread.start()

    def post(self, sql: str, values: Sequence[Any]) -> None:
        """
        Queue a statement without waiting for it.

        Raises:
            RunError: writing has failed before.
        """
        self.post_all([Statement(sql, values)])

    def post_all(self, statements: Sequence[Statement]) -> None:
        """
        Queue *statements*, to be executed in one transaction or not at all.

        Raises:
            RunError: writing has failed before.
        """
        if self._failure:
            raise self._failure
        self._queue.put(_Transaction(statements))

    def write(self, row: Row) -> asyncio.Future[None]:
        """
        Insert a record; the future is done when it is committed, and cancelling that changes nothing.

        Raises:
            RunError: the database can't be written since an earlier statement.
        """
        if self._failure:
            raise self._failure
        records = self._gathering
        if records is None:
            loop = asyncio.get_running_loop()
            records = self._gathering = _Records(loop, [], [])
            loop.call_soon(self._hand_over, records)
        durable: asyncio.Future[None] = records.loop.create_future()
        records.rows.append(row)
        records.durable.append(durable)
        return durable

    def write_all(self, rows: list[Row], before: Sequence[Statement] = ()) -> asyncio.Future[None]:
        """
        Insert records that came together; the future is done when they are committed.

        The statements *before* are executed first, in the same transaction.

        Raises:
            RunError: writing has failed before.
        """
        if self._failure:
            raise self._failure
        loop = asyncio.get_running_loop()
        durable: asyncio.Future[None] = loop.create_future()
        self._queue.put(_Records(loop, rows, [durable], before))
        return durable

    def _hand_over(self, records: _Records) -> None:
        if self._gathering is records:
            self._gathering = None
            self._queue.put(records)

    def flush(self) -> None:
        """
        Wait until everything queued before is committed.

        Raises:
            RunError: something could not be written.
        """
        self._wait_for(threading.Event())

    def close(self) -> None:
        """
        Commit what is queued and end the thread.

        Raises:
            RunError: something could not be written.
        """
        if self._gathering:  # of a loop that ended before its next turn
            self._hand_over(self._gathering)
        self._wait_for(self._end)
        self._thread.join()

    def _wait_for(self, reached: threading.Event) -> None:
        self._queue.put(reached)
        reached.wait()
        if self._failure:
            raise self._failure

    def _work(self) -> None:
        connection = connect(self._path)
        try:
            try:
                connection.execute(f"PRAGMA synchronous={self._synchronous}")
                # Every record that comes while the log is folded into the database has to wait for that.
                connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            except sqlite3.Error as error:
                self._failure = self._unwritable(error)
            while not self._end.is_set():
                batch, reached = self._next_batch()
                if batch:
                    self._commit(connection, batch)
                if reached:
                    reached.set()
        finally:
            connection.close()

    def _unwritable(self, error: Exception) -> RunError:
        return RunError(
            f"{self._path} can't be written: {error}. What was committed before is safe; "
            "mend the cause (is the disk full?) and go on with `replay resume`"
        )

    def _check_is_there(self) -> None:
        """
        Look whether the database's name still leads to it; SQLite would go on writing what nobody can open.

        Raises:
            RunError: it doesn't.
        """
        try:
            is_there = self._path.stat().st_ino == self._inode
        except (FileNotFoundError, NotADirectoryError):
            is_there = False
        if not is_there:
            raise RunError(
                f'the run in "{self._path.parent}" was deleted or moved while it was written, so nothing can '
                "be kept there any more. Begin a new run; of one that was moved, go on with what it has: "
                "`replay resume`, where it is now"
            )

    def _next_batch(self) -> tuple[list[_Item], threading.Event | None]:
        """Return all waiting items, up to a mark that somebody waits for."""
        batch: list[_Item] = []
        item = self._queue.get()
        while not isinstance(item, threading.Event):
            batch.append(item)
            if self._queue.empty():
                return batch, None
            item = self._queue.get()
        return batch, item

    def _commit(self, connection: sqlite3.Connection, batch: list[_Item]) -> None:
        if self._failure is None:
            try:
                self._check_is_there()
                connection.execute(
                    "BEGIN IMMEDIATE"
                )  # or two processes that read first would be in a deadlock
                _execute(connection, batch)
                connection.execute("COMMIT")
                write_mark(self._lock, committed_rows(connection), self._number)
                if self._is_first_commit and self._number == 0:
                    keep_first_mark(self._lock)  # of workers of an earlier session, which are gone
                self._is_first_commit = False
            # Not SQLite's errors alone: of a number too large for a column Python itself complains, and
            # a thread that died of it would leave everyone waiting.
            except Exception as error:  # noqa: BLE001 - whoever waits for the records gets it
                self._failure = error if isinstance(error, RunError) else self._unwritable(error)
                with suppress(sqlite3.Error):  # SQLite may have rolled back already
                    connection.execute("ROLLBACK")
        for loop, of_loop in groupby((i for i in batch if isinstance(i, _Records)), lambda i: i.loop):
            if not loop.is_closed():  # a cancelled run may be gone before its last commit
                waiting = [future for records in of_loop for future in records.durable]
                loop.call_soon_threadsafe(_settle, waiting, self._failure)


def _execute(connection: sqlite3.Connection, batch: list[_Item]) -> None:
    """Run everything in order; the rows of neighbouring records at once."""
    for are_plain, items in groupby(batch, lambda item: isinstance(item, _Records) and not item.before):
        if are_plain:
            insert_records(connection, [row for i in items if isinstance(i, _Records) for row in i.rows])
            continue
        for item in items:
            for statement in item.statements if isinstance(item, _Transaction) else item.before:
                connection.execute(statement.sql, statement.values)
            if isinstance(item, _Records):
                insert_records(connection, item.rows)


def _settle(waiting: list[asyncio.Future[None]], failure: RunError | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if failure is None:
            future.set_result(None)
        else:
            future.set_exception(failure)
            future.exception()
