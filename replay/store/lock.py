"""
Keeps two processes from writing the same run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from replay.core.errors import RunError
from replay.store.completeness import LOCK


def hold(folder: Path) -> IO[bytes]:
    """
    Hold the run in *folder* for this process; the system lets go of it if we die.

    Raises:
        RunError: another process holds it, or the folder can't be written.
    """
    try:
        # Neither cut nor at its end: it holds how far the run's commits have come.
        handle = os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
    except OSError as error:
        raise RunError(
            f'the run in "{folder}" can\'t be written: {error.strerror}; to go on with it, copy the folder '
            "to where there is writing"
        ) from error
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        raise RunError(
            f'another process is writing the run in "{folder}"; wait for it, or stop it first'
        ) from error
    return handle


def let_go(handle: IO[bytes] | None) -> None:
    """Let another process have the run."""
    if handle is not None:
        handle.close()
