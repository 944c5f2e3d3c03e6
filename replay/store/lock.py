"""
Keeps two processes from writing the same run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from replay.errors import RunError


def hold(folder: Path) -> IO[bytes]:
    """
    Hold the run in *folder* for this process; the system lets go of it if we die.

    Raises:
        RunError: another process holds it.
    """
    handle = (folder / "lock").open("ab")
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
