"""The page that describes the scorers names each of them, with the signature of its default settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.settings.plugins import available

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
ENTRIES = [entry for entry in available("scorers").values() if entry.value.startswith("replay.scorers.")]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_scorer_is_described(entry):
    page = PAGE.read_text("utf-8").replace("\\|", "|")

    assert f"`{entry.name}`" in page
    assert f"`{entry.load()().signature}`" in page
