"""Tasks that run side by side, and what to raise when they fail."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


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
