"""How tests wait for what is really somewhere else: another process, a socket, a browser, a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 300.0
"""After which a test that waits for something has failed: it never comes. No machine is this slow."""
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
