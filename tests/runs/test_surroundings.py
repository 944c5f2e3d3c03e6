"""The tests in ``surroundings.py``, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE_S


def test_what_belongs_to_the_whole_process_is_as_before():
    """Theirs is a process with few objects: here the collector would go through all that other tests made."""
    tests = Path(__file__).with_name("surroundings.py")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
