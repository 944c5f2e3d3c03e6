"""
How tests wait for what is really somewhere else: another process, a socket, a browser, a thread.

Nothing here says how long something may take; where something never comes, a test ends after ``PATIENCE_S``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 300.0
"""So slow is no machine: what hasn't come by then never comes."""
_LOOK_AGAIN_S = 0.005


def until(reached: Callable[[], T]) -> T:
    """What *reached* gives once that is true."""
    end = time.monotonic() + PATIENCE_S
    while not (found := reached()):
        assert time.monotonic() < end, "this never comes"
        time.sleep(_LOOK_AGAIN_S)
    return found


async def until_async(reached: Callable[[], T]) -> T:
    """The same, while the event loop goes on."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := reached()):
            await asyncio.sleep(_LOOK_AGAIN_S)
    return found


async def others_first() -> None:
    """Return when every task and socket of this loop has had its turn several times."""
    for _ in range(20):
        await asyncio.sleep(0)


async def takes(seconds: float) -> None:
    """For a server that takes its time, so that others come in between: *seconds* or more."""
    await asyncio.sleep(seconds)


def hold_up(seconds: float) -> None:
    """Keep this thread, and the loop it runs, from everything for at least *seconds*."""
    time.sleep(seconds)
