"""The user's own verdict cache is out of reach of every test here."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Where the verdict cache is by default."""
    monkeypatch.setenv("CONVREPLAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
