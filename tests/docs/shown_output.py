"""What a page shows that a program prints."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def agree(page: str, shown: str, found: str) -> None:
    """Assert that *page* shows what was *found*; with UPDATE_GOLDEN=1 put it there instead of *shown*."""
    if os.environ.get("UPDATE_GOLDEN"):
        path = ROOT / page
        path.write_text(path.read_text("utf-8").replace(shown, found), "utf-8")
        shown = found
    assert shown == found
