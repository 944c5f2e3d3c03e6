"""
The event loops that we make: for a program of ours uvloop's where it is installed, else asyncio's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
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
