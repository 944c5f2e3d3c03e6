"""A process that has no work left once the one that started it is gone, however that ended."""

from __future__ import annotations

import os
import threading
import time

_LOOK_EVERY_S = 1.0


def leave_with(parent: int) -> None:
    """
    End this process, whatever it is at, within a second or so of the end of *parent*, which started it.

    Nobody else may tell: a queue's worker holds both of its ends, and a loop that computes hears no one.
    """
    threading.Thread(target=_watch, args=(parent,), name="parent-watch", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(0)
