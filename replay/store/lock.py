"""
Keeps two processes from writing the same run.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO

from replay.core.errors import RunError
from replay.store.completeness import LOCK

WORKERS_END_S = 2.0
"""How long a run may still be held by workers of a program that was killed: some may be starting."""
_LOOK_AGAIN_S = 0.02


def acquire(folder: Path, *, is_alone: bool = True) -> IO[bytes]:
    """
    Hold the run in *folder* for this process; the system lets go of it if we die.

    Not *is_alone*: the file is opened for a worker of the process that holds the run. Workers of one that was
    killed end some milliseconds after it, and are waited for.

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
        if is_alone and os.name == "posix":
            import fcntl

            end = time.monotonic() + WORKERS_END_S
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(_LOOK_AGAIN_S)
    except OSError as error:
        handle.close()
        raise RunError(
            f'another process is writing the run in "{folder}"; wait for it, or stop it first'
        ) from error
    return handle


def release(handle: IO[bytes] | None) -> None:
    """Let another process have the run."""
    if handle is not None:
        handle.close()
