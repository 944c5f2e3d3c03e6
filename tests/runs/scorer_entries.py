"""What a run keeps of an installed scorer, for runs that are made by hand."""

from __future__ import annotations

from pathlib import Path

from replay.core.settings.choice import Choice
from replay.core.settings.plugins import load
from replay.results.scoring import ScorerEntry, ScorerKeeper


def scorer_entry(name: str) -> ScorerEntry:
    """That of the scorer called *name*, without settings."""
    choice = Choice(name=name, called=name)
    return ScorerKeeper(choice, load("scorers", name, Path())()).entry()
