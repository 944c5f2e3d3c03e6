"""What xdist's workers share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of all of xdist's workers."""
    base: Path = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Path]) -> Path:
    """What *make* makes in a folder that it is given; xdist's workers share it, and nobody writes to it."""
    import fcntl

    folder = shared_folder(tmp_path_factory)
    with (folder / f"{name}.made").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # whoever comes first makes it, and the others wait for it
        file.seek(0)
        if made := file.read():
            return Path(made)
        found = make(folder / name)
        file.write(str(found))
        return found
