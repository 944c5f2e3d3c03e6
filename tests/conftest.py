"""What all tests share: the folder of real data sets, which lies beside a checkout and never in it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

# A shell starts background jobs with SIGINT ignored, and programs inherit that; those that the tests start
# and interrupt have to be ones that can be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data sets; the test skips where it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"no real data sets at {DATA}")
    return DATA
