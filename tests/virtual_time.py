"""
An event loop whose clock jumps to whatever is next, as soon as nothing else is to be done.

For what only waits for time, never for sockets, processes or threads: an hour takes a millisecond, and takes
it in the same steps on every machine.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
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
