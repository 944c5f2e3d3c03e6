"""The check against real servers works; of the servers only the one that the tests install is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.long
def test_it_plays_against_a_websockets_server(tmp_path: Path) -> None:
    one = tmp_path / "websockets"
    one.mkdir()
    (one / "environment").symlink_to(sys.prefix)
    (one / "installed").touch()

    done = subprocess.run(
        [sys.executable, FOLDER / "interop.py", "--folder", tmp_path, "--only", "websockets"],
        capture_output=True,
        text=True,
        timeout=200,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "websockets server: websockets " in done.stdout
    assert "| a connection per conversation | 49 of 49 |" in done.stdout
    assert "code 1011" in done.stdout
