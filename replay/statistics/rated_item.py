"""
What people say of one item: a verdict or a rating by each of several raters.

What most raters say of an item, and where they part.

Li et al., *Ditch the Gold Standard* (ACL 2022), take the majority of the questioner and two validators. Of
three raters with two verdicts there always is one; of an even number, or of more verdicts, there may be none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

from replay.statistics.interval import UndefinedNumber
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
        """Return the names of those who rated it, in alphabetical order."""
        return sorted(rater for rater, rating in self.ratings.items() if rating is not None)


TIE = UndefinedNumber(reason="tie")
NO_RATING = UndefinedNumber(reason="no rating")


def majority(ratings: Iterable[Rating], tie_break: Rating = None) -> float | str | UndefinedNumber:
    """
    Return the rating that is given more often than any other; None is no rating.

    Of several that are given most often none is taken: it is *tie_break*, a further person's verdict for
    instance, or there is none.
    """
    given = Counter(rating for rating in ratings if rating is not None).most_common()
    if not given:
        return NO_RATING
    if len(given) == 1 or given[0][1] > given[1][1]:
        most = given[0][0]
        assert most is not None
        return most
    return TIE if tie_break is None else tie_break


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """An item that raters don't agree on."""

    item: RatedItem
    share: float
    """Of the pairs of its ratings those that differ, in (0, 1]."""


def disagreements(items: Sequence[RatedItem]) -> list[Disagreement]:
    """
    Return those of *items* with ratings that differ, those with most differing pairs first.

    Then by conversation, depth and id. How far apart two ratings are plays no part.
    """
    found = []
    for item in items:
        given = item.given
        pairs = comb(len(given), 2)
        alike = sum(comb(times, 2) for times in Counter(given).values())
        if alike < pairs:
            found.append(Disagreement(item=item, share=1 - alike / pairs))
    return sorted(
        found,
        key=lambda one: (-one.share, one.item.conversation, one.item.depth or 0, one.item.id or ""),
    )
