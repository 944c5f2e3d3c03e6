"""The command line in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any


def replay_cli(*arguments: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "replay", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        **more,
    )
