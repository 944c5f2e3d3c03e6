"""
Cancellation always gets out, and finds nobody in a thread.

`tests/runs/test_cancelling.py` tries it; what is looked for here are two ways to write it that look right.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAYED_BY = (
    "core",
    "coreference",
    "load",
    "play",
    "policies",
    "results",
    "runs",
    "scorers",
    "store",
    "workers",
)


@pytest.mark.parametrize("folder", ["replay", "adapters"])
def test_nobody_suppresses_a_cancellation(folder):
    """Awaited and suppressed, another task's cancellation can't be told from one's own: see ``ended``."""
    assert not [path for path in files(folder) if re.search(r"suppress\([^)]*CancelledError", text(path))]


@pytest.mark.parametrize("room", PLAYED_BY)
def test_no_run_leaves_a_thread_behind(room):
    """A cancelled ``asyncio.to_thread`` does: see ``in_thread``."""
    assert not [path for path in files(f"replay/{room}") if re.search(r"\bto_thread\(", text(path))]


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def text(path: Path) -> str:
    return path.read_text("utf-8")
