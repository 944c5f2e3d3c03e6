"""
What asks run on: the event loop (for a program of ours uvloop's where it is installed, else asyncio's), and
tasks side by side with what to raise when they fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
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
