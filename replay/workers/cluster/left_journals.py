"""Parts that are left of a program that was killed, on the node where they are."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import IO

from replay.core.errors import RunError
from replay.store.lock import acquire, release
from replay.store.reader import DATABASE, RunReader
from replay.store.undelivered import UndeliveredPart, read_undelivered
from replay.workers.cluster.journal import parts_of

RELEASE_S = 10.0
"""How long a process that has been ended may still hold its part, or another node may read it, since several
may share a disk."""
_LOOK_AGAIN_S = 0.05


def left_parts(folder: str | None, run: str) -> list[UndeliveredPart]:
    """
    What is left on this node of the *run* of that id, oldest first; *folder* as in ``parts_of``.

    Raises:
        RunError: a part is being written, or can't be read.
        InputError: as for ``parts_of``.
    """
    parts = sorted(parts_of(folder, run).glob(f"*/{DATABASE}"), key=lambda one: _order(one.parent.name))
    found = (_read(part.parent) for part in parts)
    return [one for one in found if one is not None]


def drop_parts(folder: str | None, run: str) -> None:
    """Delete them."""
    shutil.rmtree(parts_of(folder, run), ignore_errors=True)


def _order(id: str) -> tuple[int, ...]:
    return tuple(map(int, id.split("-")))


def _read(folder: Path) -> UndeliveredPart | None:
    """What is in the part in *folder*; None where another node that shares the disk has deleted it."""
    lock = _held(folder)
    try:
        if not (folder / DATABASE).exists():
            return None
        part = RunReader(folder)
        try:
            return read_undelivered(part)
        finally:
            part.close()
    finally:
        release(lock)


def _held(folder: Path) -> IO[bytes] | None:
    end = time.monotonic() + RELEASE_S
    while folder.exists():
        try:
            return acquire(folder)
        except RunError:
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_AGAIN_S)
    return None
