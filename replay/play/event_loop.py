"""
The event loops that we make: for a program of ours uvloop's where it is installed, else asyncio's.
"""

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


def run_for_library(main: Coroutine[Any, Any, T]) -> T:
    """
    What *main* gives, for a program that is not ours and has no loop running in this thread.

    On a loop of its policy's, as by ``asyncio.run``; but that takes away the loop that the program has set.
    """
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(main)
