"""
What asks run on: the event loop (for a program of ours uvloop's where it is installed, else asyncio's),
tasks side by side with what to raise when they fail, and no garbage collector that looks at the whole
program again and again while asks are timed.

A full collection walks every object there is. A program with this one's libraries has half a million, none
of which will ever be garbage, and each walk stops all conversations for as long as it takes.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


def run_on_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run *main* like ``asyncio.run``, on the fastest event loop available."""
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        factory = None
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def run_for_library(main: Coroutine[Any, Any, T]) -> T:
    """
    Return the result of *main*, for a library call in a thread without a running event loop.

    It runs on a new loop of the current policy, as with ``asyncio.run``, but the event loop that the program
    has set stays set.
    """
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(main)


@contextmanager
def first_failure() -> Iterator[None]:
    """
    Raise the first failure of the task group in the block, instead of an exception group.

    What went wrong first is what the caller can act on; the rest hangs on as its context, or as its cause
    where it has none of its own.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        first = _first(group)
        raise first from first.__cause__ or group


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


async def gather_or_cancel(parts: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of *parts*, run concurrently; the first failure or cancellation cancels the rest."""
    with first_failure():
        async with asyncio.TaskGroup() as tasks:
            begun = [tasks.create_task(part) for part in parts]
    return [task.result() for task in begun]


THRESHOLDS = (20_000, 50, 100)
"""For the first generation more than all conversations make in a second, yet soon looked through."""


_quiet = 0
"""Blocks that are under way, in whatever threads."""
_before = (0, 0, 0)
"""The thresholds as the first of them found them."""
_changing = Lock()


@contextmanager
def gc_paused() -> Iterator[None]:
    """
    Exempt the objects that exist now from garbage collection until the block ends, and collect less often.

    The garbage collector is global: of overlapping blocks the first changes its settings and the last
    restores them. Nothing changes if the program itself has frozen objects (``gc.freeze``).
    """
    global _quiet, _before
    with _changing:
        if is_ours := _quiet > 0 or not gc.get_freeze_count():
            _quiet += 1
            if _quiet == 1:
                _before = gc.get_threshold()
                gc.collect()
                gc.freeze()
                gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _changing:
            if is_ours:
                _quiet -= 1
                if _quiet == 0:
                    gc.set_threshold(*_before)
                    gc.unfreeze()
