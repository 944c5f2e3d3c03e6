"""The two bots of the shipped scenario ``support``, started as it says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def listening(folder: Path, bot: str) -> Iterator[str]:
    """*bot* in *folder*, started as the scenario says; its port."""
    command = [sys.executable, "-B", str(folder / f"{bot}_bot.py"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip().rpartition(":")[2]
    finally:
        process.kill()
        process.communicate()
