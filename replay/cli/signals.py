"""
SIGINT and SIGTERM end ``replay``, whatever it is doing.

The first one asks for an end in good order. From then on the system's own action (``SIG_DFL``) is in place,
so that the second one ends the program at once. Python calls a handler between two steps of its own, and a
loop cancels between two callbacks: what doesn't hear of the first signal, or doesn't end in time, is shown by
faulthandler and ended from its thread, which needs no Python.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPTED = 130
REACTION_S = 5.0
"""So long after the first signal the event loop must have heard of it."""
ORDERLY_END_S = 60.0
"""So long an end in good order may take: sessions are closed, workers ended, the database as well."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_heeded: list[signal.Signals] = []
_ask_to_end: list[Callable[[], object]] = []
"""Of what goes on now, where that has a way of its own to end."""


def install_signal_handlers() -> None:
    """Let a first SIGINT or SIGTERM ask for an end, and a second one end this process at once."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            _heeded.append(number)
            signal.signal(number, _on_signal)
            _reset_on_delivery(number)


def _reset_on_delivery(number: signal.Signals) -> None:
    """
    Let the system itself put ``SIG_DFL`` in the place of the handler when it is called.

    In a call that Python can't leave no handler is called, so nothing of ours could do that. ``sysv_signal``
    is glibc's; elsewhere such a call is ended by SIGQUIT (Ctrl-\\) or SIGKILL.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "sysv_signal"):
            for function in (libc.signal, libc.sysv_signal):
                function.restype, function.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
            libc.sysv_signal(number, libc.signal(number, None))


async def cancel_on_signal(doing: Coroutine[Any, Any, T]) -> T:
    """Return what *doing* gives; the first SIGINT or SIGTERM cancels the task that waits for it."""
    import asyncio  # takes longer than all else that `replay --help` needs of this file

    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def cancel() -> None:
        _end_within(ORDERLY_END_S)
        if task is not None:
            task.cancel()

    _ask_to_end.append(lambda: loop.call_soon_threadsafe(cancel))
    try:
        return await doing
    finally:
        _ask_to_end.pop()


def run_server(serving: Coroutine[Any, Any, None]) -> None:
    """
    Serve until a signal asks for an end.

    Raises:
        typer.Exit: it did.
    """
    import asyncio

    import typer

    try:
        asyncio.run(cancel_on_signal(serving))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(INTERRUPTED) from None


def _on_signal(number: int, frame: FrameType | None) -> None:
    for heeded in _heeded:
        signal.signal(heeded, signal.SIG_DFL)
    if os.isatty(2):
        os.write(2, b"\x1b[?25h")  # the cursor, which the live progress hid
    if not _ask_to_end:
        _end_within(ORDERLY_END_S)
        raise KeyboardInterrupt
    _end_within(REACTION_S)
    _ask_to_end[-1]()


def _end_within(seconds: float) -> None:
    """End this process, with its place in the code on standard error, unless it has ended by then."""
    if sys.__stderr__ is not None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)
