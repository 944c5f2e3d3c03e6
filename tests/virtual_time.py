"""
Event loops with clocks of their own.

``VirtualLoop``'s jumps to whatever is next, as soon as nothing else is to be done. For what only waits for
time, never for sockets, processes or threads: an hour takes a millisecond, and takes it in the same steps on
every machine.

``SteadyLoop`` is for the others, and every other test has it: its clock stands still while the machine does.
A second in which a busy machine ran somebody else doesn't let all timers pass at once, so what a server of
the same loop says after 30 ms still comes before a patience of 300 ms ends.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from time import monotonic
from typing import Any, ParamSpec

P = ParamSpec("P")


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` begins at 0, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Leaping(self))

    def time(self) -> float:
        return self.now


class _Leaping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nothing is going to happen")
        self._loop.now += timeout
        return super().select(0)


MOST_AT_ONCE_S = 0.02
"""What takes longer between two waits has taken so long."""
ROUNDED_S = 0.002
"""Waits are rounded up to milliseconds."""


class SteadyLoop(asyncio.SelectorEventLoop):
    """``time()`` goes on as the machine's does while this process does, and hardly past the next timer."""

    def __init__(self) -> None:
        self._shown = self._looked = monotonic()
        super().__init__(_Waiting(self))

    def time(self) -> float:
        return self._shown + min(monotonic() - self._looked, MOST_AT_ONCE_S)

    def look(self, most_s: float | None) -> None:
        """Show the time; *most_s* or less passed since the last look."""
        now = monotonic()
        passed = now - self._looked
        self._shown += passed if most_s is None else min(passed, most_s)
        self._looked = now


class _Waiting(selectors.DefaultSelector):
    def __init__(self, loop: SteadyLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.look(MOST_AT_ONCE_S)
        ready = super().select(timeout)
        self._loop.look(None if timeout is None else max(timeout, 0.0) + ROUNDED_S)
        return ready


class SteadyTime(asyncio.DefaultEventLoopPolicy):
    """Makes such loops."""

    _loop_factory = SteadyLoop


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """*test*, to be run on a loop of that kind."""

    @wraps(test)
    def run(*args: P.args, **settings: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **settings))

    return run


def now() -> float:
    """What the clock of the running loop shows, in seconds."""
    return asyncio.get_running_loop().time()
