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
    Exempt the objects that exist now from garbage collection until the block ends, and collect less often.

    The garbage collector is global: of overlapping blocks the first changes its settings and the last
    restores them. Nothing changes if the program itself has frozen objects (``gc.freeze``).
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
