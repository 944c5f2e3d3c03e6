"""What all tests share: the folder of real data, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture
def shared() -> Path:
    """The folder of real conversation data; the test skips where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"no real conversation data at {SHARED}")
    return SHARED
