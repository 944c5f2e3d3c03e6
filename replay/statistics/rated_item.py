"""What people say of one item: a verdict or a rating by each of several raters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replay.statistics.rater_agreement import Rating


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedItem:
    """One thing that was rated, by one criterion."""

    conversation: str
    """What the item belongs to and is resampled with."""
    ratings: Mapping[str, Rating]
    """By rater; None and a rater who is not there are the same: no rating."""
    depth: int | None = None
    """The turn's; None where the item is no turn."""
    id: str | None = None
    """What the caller knows the item by."""

    @property
    def given(self) -> list[Rating]:
        """The ratings that were given, by rater in alphabetical order."""
        return [self.ratings[rater] for rater in self.raters]

    @property
    def raters(self) -> list[str]:
        """Who rated, in alphabetical order."""
        return sorted(rater for rater, rating in self.ratings.items() if rating is not None)
