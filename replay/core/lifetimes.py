"""
How long threads, tasks and processes live: waited for to their end, even where whoever waits is cancelled
(their cancellation then gets out), and ended with the process that started them.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from threading import Event
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """
    Return what *do* returns, called in a thread of the event loop's default pool.

    Cancellation waits until the thread has ended: a thread can't be cancelled, and SQLite crashes the process
    if a database is closed while a thread uses it.
    """
    return await _run_shielded(lambda: do(*args, **kwargs), lambda: None)


async def stoppable(do: Callable[[Event], T]) -> T:
    """Return what *do* returns, as ``in_thread``; on cancellation its event is set, so that it may stop."""
    stop = Event()
    return await _run_shielded(lambda: do(stop), stop.set)


async def _run_shielded(do: Callable[[], T], stop: Callable[[], None]) -> T:
    # No task, which whoever cancels all tasks of the loop would part from its thread.
    done = asyncio.get_running_loop().run_in_executor(None, copy_context().run, do)
    cancelled: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError as error:
            cancelled = error
            stop()
    if cancelled is not None:
        raise cancelled from done.exception()
    return done.result()


async def cancel_and_wait(task: asyncio.Task[None]) -> None:
    """
    Cancel *task* and wait until it is gone.

    Not by awaiting it: its cancellation would look like our own, and who suppresses the one loses the other.

    Raises:
        Exception: *task* had failed with it.
    """
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


_LOOK_EVERY_S = 1.0


def leave_with(parent: int) -> None:
    """
    End this process, whatever it is at, within a second or so of the end of *parent*, which started it.

    Nobody else may tell: a queue's worker holds both of its ends, and a loop that computes hears no one.
    """
    threading.Thread(target=_watch, args=(parent,), name="parent-watch", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(0)
