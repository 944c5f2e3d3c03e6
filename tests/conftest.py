"""What all tests share: the folder of real data sets, which lies beside a checkout and never in it."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data sets; the test skips where it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"no real data sets at {DATA}")
    return DATA
