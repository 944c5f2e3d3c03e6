"""
The one thread that writes to a run's database, with group commit.

Everything that queued up while the last commit ran goes into the next one, so that under load one
commit carries many records, and at rest one record waits for nothing but its own.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

from replay.errors import RunError
from replay.store.schema import connect


class _Statement(NamedTuple):
    sql: str
    values: Sequence[Any]
    durable: asyncio.Future[None] | None


class Writer:
    """Takes statements from the event loop's thread, and from others, in order."""

    def __init__(self, path: str, *, synchronous: str) -> None:
        self._path = path
        self._synchronous = synchronous
        self._queue: SimpleQueue[_Statement | threading.Event] = SimpleQueue()
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
        if self._failure:
            raise self._failure
        self._queue.put(_Statement(sql, values, None))

    async def write(self, sql: str, values: Sequence[Any]) -> None:
        """
        Queue a statement and return when it is committed; cancelling only stops the waiting.

        Raises:
            RunError: the database can't be written, now or since an earlier statement.
        """
        if self._failure:
            raise self._failure
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put(_Statement(sql, values, durable))
        await asyncio.shield(durable)

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
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            while not self._end.is_set():
                batch, reached = self._next_batch()
                if batch:
                    self._commit(connection, batch)
                if reached:
                    reached.set()
        finally:
            connection.close()

    def _next_batch(self) -> tuple[list[_Statement], threading.Event | None]:
        """All that waits, up to a mark that somebody waits for."""
        batch: list[_Statement] = []
        item = self._queue.get()
        while isinstance(item, _Statement):
            batch.append(item)
            if self._queue.empty():
                return batch, None
            item = self._queue.get()
        return batch, item

    def _commit(self, connection: sqlite3.Connection, batch: list[_Statement]) -> None:
        if self._failure is None:
            try:
                connection.execute("BEGIN")
                for statement in batch:
                    connection.execute(statement.sql, statement.values)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._failure = RunError(
                    f"{self._path} can't be written: {error}. What was committed before is safe; "
                    "mend the cause (is the disk full?) and go on with `replay resume`"
                )
        _settle([s.durable for s in batch if s.durable is not None], self._failure)


def _settle(futures: list[asyncio.Future[None]], failure: RunError | None) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for future in futures:
        by_loop.setdefault(future.get_loop(), []).append(future)

    def settle(waiting: list[asyncio.Future[None]]) -> None:
        for future in waiting:
            if future.done():
                continue
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)
                future.exception()

    for loop, waiting in by_loop.items():
        if not loop.is_closed():  # a cancelled run may be gone before its last commit
            loop.call_soon_threadsafe(settle, waiting)
