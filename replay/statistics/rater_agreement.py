"""
Agreement among raters beyond chance: Cohen's kappa, Fleiss' kappa, Krippendorff's alpha.

All three are 1 - observed/expected disagreement and differ in what they expect by chance: Cohen gives
each rater habits of their own (Cohen, *A coefficient of agreement for nominal scales*, 1960), Fleiss one
habit for all (Fleiss, *Measuring nominal scale agreement among many raters*, 1971), so that raters may
change from item to item, and Krippendorff the same corrected for few items, with missing ratings and any
scale (Krippendorff, *Content Analysis*, 2004, chapter 11).

Each is a formula of sums over items, so that an interval costs one product of matrices and no thousand
calls; tests hold them against statsmodels and the package ``krippendorff``. Where no disagreement is to
be expected, because everybody always gives the same rating, all three are 0/0 and undefined: such data
can't tell careful raters from absent ones. With statsmodels, 1,000 resamples of Cohen's kappa of 200 items
took 37 ms where this takes 0.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Literal

import numpy as np

from replay.statistics.estimate import Formula
from replay.statistics.interval import UndefinedNumber
from replay.statistics.resampling import Matrix

Rating = float | str | None
"""None is a missing rating."""
Level = Literal["nominal", "ordinal", "interval", "ratio"]

ALL_EQUAL = UndefinedNumber(reason="all ratings are equal")
NOT_TWO = UndefinedNumber(reason="no item with two ratings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure of some items: its formula, and what it sums up."""

    features: Matrix
    """Shape (items, features)."""
    formula: Formula

    def value(self) -> float | UndefinedNumber:
        """Of all the items together, of which there is at least one."""
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(self.formula(self.features.sum(axis=0, keepdims=True))[0])
        return ALL_EQUAL if np.isnan(value) else value


def complete_items(items: Sequence[Sequence[Rating]]) -> list[list[Rating]]:
    """Return the items with the most common number of ratings (at least two; the larger of equals)."""
    rated: list[list[Rating]] = [[rating for rating in item if rating is not None] for item in items]
    sizes = [len(item) for item in rated if len(item) > 1]
    if not sizes:
        return []
    usual = max(sorted(set(sizes), reverse=True), key=sizes.count)
    return [item for item in rated if len(item) == usual]


def percent_agreement(items: Sequence[Sequence[Rating]]) -> Measure:
    """Return the mean share of equal pairs of ratings, over items with two ratings or more."""
    counts, _ = _counts(items)
    return Measure(
        features=np.column_stack([_agreeing(counts), np.ones(len(counts))]),
        formula=lambda sums: sums[:, 0] / sums[:, 1],
    )


def cohen(pairs: Sequence[tuple[Rating, Rating]]) -> Measure:
    """Return Cohen's kappa, in [-1, 1], of *pairs* of ratings of one item by two raters."""
    categories = _categories([rating for pair in pairs for rating in pair])
    size = len(categories)
    distances = 1 - np.eye(size)
    first, second = (np.array([categories[pair[side]] for pair in pairs]) for side in (0, 1))

    def formula(sums: Matrix) -> Matrix:
        observed, ones, others = sums[:, 0], sums[:, 1 : size + 1], sums[:, size + 1 :]
        of = ones.sum(axis=1)
        return _beyond_chance(observed / of, ((ones @ distances) * others).sum(axis=1) / of**2)

    habits = np.eye(size)
    return Measure(
        features=np.column_stack([distances[first, second], habits[first], habits[second]]), formula=formula
    )


def fleiss(items: Sequence[Sequence[Rating]]) -> Measure:
    """
    Return Fleiss' kappa, at most 1, of items with the same number of ratings each, at least two.

    ``complete_items`` leaves others out.
    """
    counts, _ = _counts(items)

    def formula(sums: Matrix) -> Matrix:
        given = sums[:, 2:]
        shares = given / given.sum(axis=1, keepdims=True)
        return _beyond_chance(1 - sums[:, 0] / sums[:, 1], 1 - (shares**2).sum(axis=1))

    return Measure(
        features=np.column_stack([_agreeing(counts), np.ones(len(counts)), counts]), formula=formula
    )


def alpha(items: Sequence[Sequence[Rating]], level: Level) -> Measure:
    """
    Return Krippendorff's alpha, at most 1, of items with two ratings or more.

    *level* is the scale's: with ``nominal`` any two different ratings are as bad, with ``ordinal`` the
    ratings between them matter, with ``interval`` their difference, with ``ratio`` their proportion.

    Raises:
        ValueError: a rating is a text and *level* is not ``nominal``.
    """
    counts, categories = _counts(items)
    if level != "nominal" and any(isinstance(category, str) for category in categories):
        raise ValueError(f"ratings that are texts have no {level} scale")
    # Only different ratings that meet in an item: a scale of hundreds has too many pairs for all of them.
    together = (counts > 0).astype(float)
    first, second = np.nonzero(np.triu(together.T @ together, 1))
    size = len(first)

    def formula(sums: Matrix) -> Matrix:
        met, given = sums[:, :size], sums[:, size:]
        of = given.sum(axis=1)
        distances = _distances(given, categories, level)
        observed = 2 * (met * distances[:, first, second]).sum(axis=1) / of
        expected = ((given[:, None, :] @ distances)[:, 0] * given).sum(axis=1) / (of * (of - 1))
        return _beyond_chance(observed, expected)

    met = counts[:, first] * counts[:, second] / (counts.sum(axis=1, keepdims=True) - 1)
    return Measure(features=np.column_stack([met, counts]), formula=formula)


def _distances(given: Matrix, categories: Mapping[Any, int], level: Level) -> Matrix:
    """Return the squared distance between each two categories: shape (rows or 1, categories, categories)."""
    if level == "nominal":
        return (1 - np.eye(len(categories)))[None]
    # Between two ranks lie the ratings that were given there, half of those at either end.
    places = given.cumsum(axis=1) - given / 2 if level == "ordinal" else np.array([list(categories)], float)
    differences = places[:, :, None] - places[:, None, :]
    if level == "ratio":
        both = places[:, :, None] + places[:, None, :]
        differences = np.divide(differences, both, out=np.zeros_like(differences), where=both != 0)
    squares: Matrix = differences**2
    return squares


def _beyond_chance(observed: Matrix, expected: Matrix) -> Matrix:
    """1 - *observed*/*expected* disagreement; NaN where none is expected."""
    # Counts are whole numbers and their sums exact, so that nothing expected is 0 and no rounding error.
    return 1 - observed / expected


def _agreeing(counts: Matrix) -> Matrix:
    """Return the share of pairs of ratings that are equal, of each item."""
    ratings = counts.sum(axis=1)
    shares: Matrix = (counts * (counts - 1)).sum(axis=1) / (ratings * (ratings - 1))
    return shares


def _counts(items: Sequence[Sequence[Rating]]) -> tuple[Matrix, Mapping[Any, int]]:
    """Return how often each item was given each rating: shape (items, ratings); and the ratings' columns."""
    categories = _categories([rating for item in items for rating in item])
    counts = np.zeros((len(items), len(categories)))
    for row, item in zip(counts, items, strict=True):
        for rating in item:
            row[categories[rating]] += 1
    return counts, categories


def _categories(ratings: Sequence[Any]) -> dict[Any, int]:
    """Return the places of the ratings that occur, in order."""
    ordered = sorted(set(ratings), key=lambda rating: (isinstance(rating, str), rating))
    return {rating: place for place, rating in enumerate(ordered)}


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
    def given_ratings(self) -> list[Rating]:
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
        given = item.given_ratings
        pairs = comb(len(given), 2)
        alike = sum(comb(times, 2) for times in Counter(given).values())
        if alike < pairs:
            found.append(Disagreement(item=item, share=1 - alike / pairs))
    return sorted(
        found,
        key=lambda one: (-one.share, one.item.conversation, one.item.depth or 0, one.item.id or ""),
    )
