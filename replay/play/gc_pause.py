"""
Keeps Python's garbage collector from looking at the whole program again and again while asks are timed.

A full collection walks every object there is. A program with this one's libraries has half a million, none
of which will ever be garbage, and each walk stops all conversations for as long as it takes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

THRESHOLDS = (20_000, 50, 100)
"""For the first generation more than all conversations make in a second, yet soon looked through."""


_quiet = 0
"""Blocks that are under way, in whatever threads."""
_before = (0, 0, 0)
"""The thresholds as the first of them found them."""
_changing = Lock()


@contextmanager
def gc_paused() -> Iterator[None]:
    """
    What lives when the block begins is not looked at until it ends, and new objects less often.

    The collector is the process's: of blocks side by side the first changes it and the last one changes it
    back. A program that has frozen objects of its own keeps its way.
    """
    global _quiet, _before
    with _changing:
        if is_ours := _quiet > 0 or not gc.get_freeze_count():
            _quiet += 1
            if _quiet == 1:
                _before = gc.get_threshold()
                gc.collect()
                gc.freeze()
                gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _changing:
            if is_ours:
                _quiet -= 1
                if _quiet == 0:
                    gc.set_threshold(*_before)
                    gc.unfreeze()
