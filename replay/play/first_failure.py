"""What to raise when tasks that run side by side fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def first_failure() -> Iterator[None]:
    """
    Around a task group: raises the failure itself instead of a group of them.

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
