"""
Agreement among raters beyond chance: Cohen's kappa, Fleiss' kappa, Krippendorff's alpha.

All three are 1 - observed/expected disagreement and differ in what they expect by chance: Cohen gives
each rater habits of their own (Cohen, *A coefficient of agreement for nominal scales*, 1960; weighted
for ordered scales, 1968), Fleiss one habit for all (Fleiss, *Measuring nominal scale agreement among
many raters*, 1971), so that raters may change from item to item, and Krippendorff the same corrected
for few items, with missing ratings and any scale (Krippendorff, *Content Analysis*, 2004, chapter 11).

The kappas are statsmodels', alpha is that of the package ``krippendorff``. Where no disagreement is to
be expected, because everybody always gives the same rating, all three are 0/0 and undefined: such data
can't tell careful raters from absent ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from replay.statistics.undefined import Undefined

Rating = float | str | None
"""None is a missing rating."""
Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["linear", "quadratic"]

ALL_EQUAL = Undefined(reason="all ratings are equal")


def cohen_kappa(
    first: Sequence[Rating], second: Sequence[Rating], weights: Weights | None = None
) -> float | Undefined:
    """
    Cohen's kappa of two raters, in [-1, 1], over the items that both rated.

    *weights* let a near miss count less: by the ratings' difference, or its square.

    Raises:
        ValueError: the lengths differ, or ratings that are texts are to be weighted.
    """
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not pairs:
        return Undefined(reason="no item that both rated")
    categories = _categories([rating for pair in pairs for rating in pair])
    if len(categories) < 2:
        return ALL_EQUAL
    if weights and any(isinstance(category, str) for category in categories):
        raise ValueError("ratings that are texts have no difference to weight by")
    from statsmodels.stats.inter_rater import cohens_kappa  # type: ignore[import-untyped]

    table = np.zeros((len(categories), len(categories)))
    for a, b in pairs:
        table[categories.index(a), categories.index(b)] += 1
    values = np.array(categories) if weights else None
    return float(cohens_kappa(table, weights=values, wt=weights, return_results=False))


def mean_cohen_kappa(raters: Sequence[Sequence[Rating]], weights: Weights | None = None) -> float | Undefined:
    """
    The mean of Cohen's kappa over all pairs of raters that have one (Light, 1971).

    *raters* has one sequence of ratings each, of the same items. Only for raters who are the same
    people throughout.
    """
    kappas = [
        kappa
        for place, one in enumerate(raters)
        for other in raters[place + 1 :]
        if not isinstance(kappa := cohen_kappa(one, other, weights), Undefined)
    ]
    return sum(kappas) / len(kappas) if kappas else Undefined(reason="no pair of raters has a kappa")


def fleiss_kappa(items: Sequence[Sequence[Rating]]) -> float | Undefined:
    """
    Fleiss' kappa, at most 1, of the ratings of each item.

    Items with another number of ratings than most have (None is no rating) are left out, since the
    measure is for a fixed number; ``complete_items`` says how many remain.
    """
    complete = complete_items(items)
    if not complete:
        return Undefined(reason="no item with two ratings")
    categories = _categories([rating for item in complete for rating in item])
    if len(categories) < 2:
        return ALL_EQUAL
    from statsmodels.stats.inter_rater import fleiss_kappa as fleiss

    table = np.array([[item.count(category) for category in categories] for item in complete])
    return float(fleiss(table, method="fleiss"))


def complete_items(items: Sequence[Sequence[Rating]]) -> list[list[Rating]]:
    """The items that have as many ratings as most do, at least two; of equally common numbers the larger."""
    rated: list[list[Rating]] = [[rating for rating in item if rating is not None] for item in items]
    sizes = [len(item) for item in rated if len(item) > 1]
    if not sizes:
        return []
    usual = max(sorted(set(sizes), reverse=True), key=sizes.count)
    return [item for item in rated if len(item) == usual]


def krippendorff_alpha(items: Sequence[Sequence[Rating]], level: Level = "ordinal") -> float | Undefined:
    """
    Krippendorff's alpha, at most 1, of the ratings of each item; items with fewer than two don't count.

    *level* is the scale's: with ``nominal`` any two different ratings are as bad, with ``ordinal`` the
    ratings between them matter, with ``interval`` their difference, with ``ratio`` their proportion.

    Raises:
        ValueError: a rating is a text and *level* is not ``nominal``.
    """
    rated = [[rating for rating in item if rating is not None] for item in items]
    rated = [item for item in rated if len(item) > 1]
    if not rated:
        return Undefined(reason="no item with two ratings")
    categories = _categories([rating for item in rated for rating in item])
    if len(categories) < 2:
        return ALL_EQUAL
    if level != "nominal" and any(isinstance(category, str) for category in categories):
        raise ValueError(f"ratings that are texts have no {level} scale")
    import krippendorff

    counts = np.array([[item.count(category) for category in categories] for item in rated])
    domain = np.arange(len(categories)) if level == "nominal" else np.array(categories, dtype=float)
    return float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))


def _categories(ratings: Sequence[Any]) -> list[Any]:
    """The ratings that occur, in order."""
    return sorted(set(ratings), key=lambda rating: (isinstance(rating, str), rating))
