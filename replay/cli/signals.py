"""
SIGINT and SIGTERM always end ``replay``, whatever it is doing.

The first one asks for an end in good order, the second one ends the program at once. Python calls a handler
between two steps of its own only, and an event loop cancels between two callbacks: neither comes while a
template or a plug-in's call never returns. So a second process looks on (``end_guard``). It is told of each
signal by faulthandler, whose handlers are C, run at once and call Python's next.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

INTERRUPTED = 130
REACTION_S = 5.0
"""So long after the first signal the event loop must have heard of it."""
ORDERLY_END_S = 60.0
"""So long an end in good order may take: sessions are closed, workers ended, the database as well."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Signals:
    """What became of those that came in."""

    def __init__(self) -> None:
        self.came = False
        self.ask_to_end: Callable[[], object] | None = None
        """Of what goes on now, where that has a way of its own to end."""
        self.guard: int | None = None
        """Where the guard listens."""


_signals = _Signals()


def always_end() -> None:
    """From now on, and for as long as this process lives, a second SIGINT or SIGTERM ends it at once."""
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, _on_signal)
    if hasattr(faulthandler, "register"):  # not on Windows
        guard = _signals.guard = _start_guard()
        if guard is not None:
            for number in heeded:
                faulthandler.register(number, file=guard, all_threads=False, chain=True)


async def until_told_to_end(doing: Coroutine[Any, Any, T]) -> T:
    """What *doing* gives; the first SIGINT or SIGTERM cancels the task that waits for it."""
    import asyncio  # takes longer than all else that `replay --help` needs of this file

    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def cancel() -> None:
        if _signals.guard is not None:
            with suppress(OSError):
                os.write(_signals.guard, b"\0")
        if task is not None:
            task.cancel()

    _signals.ask_to_end = lambda: loop.call_soon_threadsafe(cancel)
    try:
        return await doing
    finally:
        _signals.ask_to_end = None


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _signals.came:
        _end_at_once()
    _signals.came = True
    if _signals.ask_to_end is None:
        raise KeyboardInterrupt
    _signals.ask_to_end()


def _end_at_once() -> NoReturn:
    with suppress(OSError):
        os.write(2, b"\nended at once\n")
    os._exit(INTERRUPTED)


def _start_guard() -> int | None:
    """Where to write what the guard is to know; None where there can't be one."""
    listening, told = os.pipe()
    guard = Path(__file__).with_name("end_guard.py")
    arguments = [
        sys.executable,
        "-I",
        "-S",
        str(guard),
        str(os.getpid()),
        str(REACTION_S),
        str(ORDERLY_END_S),
    ]
    try:
        os.posix_spawn(
            sys.executable,
            arguments,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, listening, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            ],
            setsigmask=_SIGNALS,
        )
    except OSError:  # no process or no memory left, or no program of that name
        os.close(told)
        return None
    finally:
        os.close(listening)
    return told
