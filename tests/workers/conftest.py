"""What these tests share."""

from __future__ import annotations

import pytest

from tests.workers.inside import Inside, started_inside


@pytest.fixture
def inside(monkeypatch) -> list[Inside]:
    """The processes that a run starts, in that order."""
    return started_inside(monkeypatch)
