"""
Keeps Python's garbage collector from looking at the whole program again and again while asks are timed.

A full collection walks every object there is. A program with this one's libraries has half a million, none
of which will ever be garbage, and each walk stops all conversations for as long as it takes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (20_000, 50, 100)
"""For the first generation more than all conversations make in a second, yet soon looked through."""


@contextmanager
def quiet_collector() -> Iterator[None]:
    """
    What lives when the block begins is not looked at until it ends, and new objects less often.

    A program that has frozen objects of its own keeps its way.
    """
    if gc.get_freeze_count():
        yield
        return
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
