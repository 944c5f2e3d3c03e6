"""The event loop that programs of ours run on: uvloop's where it is installed, asyncio's otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_on_loop(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` on the fastest loop there is."""
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        factory = None
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
