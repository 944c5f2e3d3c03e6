"""
How far raters agree, with intervals: over all items, at each turn depth, and rater by rater.

The share of equal ratings says what was seen; the kappas and alpha, what is left of it beyond chance
(``rater_agreement.py``). The turns of a conversation are rated by the same people, who are tired or strict
in all of it, so whole conversations are resampled and never single items. Who rates is taken as given: the
intervals speak of other conversations, not of other raters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from replay.statistics.estimate import (
    NumberWithInterval,
    Resampling,
    Sampling,
    by_depth,
    no_number,
    number,
    resample,
    resampling,
)
from replay.statistics.interval import Scale, UndefinedNumber
from replay.statistics.rater_agreement import (
    ALL_EQUAL,
    NOT_TWO,
    Level,
    Measure,
    RatedItem,
    Rating,
    alpha,
    cohen,
    complete_items,
    fleiss,
    percent_agreement,
)
from replay.statistics.resampling import Matrix

NO_NAMES = UndefinedNumber(reason="raters change from item to item")
NOT_USUAL = UndefinedNumber(reason="no item here has as many ratings as most")
NO_PAIR = UndefinedNumber(reason="no pair of raters has a kappa")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRow:
    """Agreement at one depth, or over all."""

    depth: int | None
    """None for all items together."""
    items: int
    """Those with a rating."""
    shared: int
    """Those of them with two ratings or more, which alone say something of agreement."""
    complete: int
    """Those that Fleiss' kappa is about: with as many ratings as most items of all depths, at least two."""
    raters: int
    agreement: NumberWithInterval
    """The mean share of pairs of ratings of one item that are equal, in [0, 1]."""
    cohen: NumberWithInterval
    """Cohen's kappa, of more than two raters the mean over all pairs that have one (Light, 1971)."""
    fleiss: NumberWithInterval
    alpha: NumberWithInterval
    """Krippendorff's."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; of all items together, depth is null."""
        return {
            "depth": self.depth,
            "items": self.items,
            "shared": self.shared,
            "complete": self.complete,
            "raters": self.raters,
            "agreement": self.agreement.to_json(),
            "cohen_kappa": self.cohen.to_json(),
            "fleiss_kappa": self.fleiss.to_json(),
            "krippendorff_alpha": self.alpha.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterPair:
    """Two raters who share an item."""

    first: str
    second: str
    agreement: NumberWithInterval
    """The share of items that both gave the same rating."""
    cohen: NumberWithInterval

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "agreement": self.agreement.to_json(),
            "cohen_kappa": self.cohen.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """How far raters agree."""

    depths: tuple[AgreementRow, ...]
    """The depths that items have, depth 1 first."""
    total: AgreementRow
    pairs: tuple[RaterPair, ...]
    """In alphabetical order; none where raters change from item to item."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; the row of all items has depth null."""
        return {
            "rows": [row.to_json() for row in (*self.depths, self.total)],
            "pairs": [pair.to_json() for pair in self.pairs],
        }


def rater_agreement_of(
    items: Sequence[RatedItem],
    *,
    level: Level = "nominal",
    same_raters: bool = True,
    pairs: bool = True,
    **sampling: Unpack[Sampling],
) -> RaterAgreement:
    """
    Return how far the raters of *items* agree; the same for any order of items and of raters.

    *level* is the scale that alpha takes the ratings for; the kappas and the share of equal ratings take
    them as names. Unless *same_raters*, a rater's name is no person's, as a crowd's columns are: then
    nobody has habits of their own, and there is no Cohen's kappa. Unless *pairs*, no two raters are looked at
    by themselves, of whom there are many where there are many raters.

    Raises:
        ValueError: a rating is a text and *level* is not ``nominal``.
    """
    drawn = resampling(
        [item.conversation for item in items],
        **sampling,
    )
    cells = by_depth([item.depth for item in items])
    # One number for all rows: Fleiss' kappa of a depth is of some of the items that the total is of.
    usual = {len(ratings) for ratings in complete_items([item.given_ratings for item in items])}
    *depths, total = (
        _row(items, depth, cell, drawn, level, same_raters, usual) for depth, cell in cells.items()
    )
    return RaterAgreement(
        depths=tuple(depths),
        total=total,
        pairs=tuple(_rater_pairs(items, drawn)) if same_raters and pairs else (),
    )


def _row(
    items: Sequence[RatedItem],
    depth: int | None,
    cell: Sequence[int],
    drawn: Resampling,
    level: Level,
    same_raters: bool,
    usual: Collection[int],
) -> AgreementRow:
    given = {place: items[place].given_ratings for place in cell}
    shared = [place for place in cell if len(given[place]) > 1]
    complete = [place for place in shared if len(given[place]) in usual]
    several = [given[place] for place in shared]
    return AgreementRow(
        depth=depth,
        items=sum(map(bool, given.values())),
        shared=len(shared),
        complete=len(complete),
        raters=len({rater for place in cell for rater in items[place].raters}),
        agreement=_number(percent_agreement(several), shared, drawn, "share"),
        cohen=_mean_cohen(items, shared, drawn) if same_raters else no_number(NO_NAMES),
        fleiss=_number(fleiss([given[place] for place in complete]), complete, drawn)
        if complete or not shared
        else no_number(NOT_USUAL),
        alpha=_number(alpha(several, level), shared, drawn),
    )


def _number(
    measure: Measure, cell: Sequence[int], drawn: Resampling, scale: Scale = "signed share"
) -> NumberWithInterval:
    if not cell:
        return no_number(NOT_TWO)
    values = resample(measure.features, cell, drawn, measure.formula)
    return number(values, cell, drawn, scale=scale, undefined=ALL_EQUAL)


def _mean_cohen(items: Sequence[RatedItem], shared: Sequence[int], drawn: Resampling) -> NumberWithInterval:
    """Of the pairs that have a kappa in a resample; which these are may change with it."""
    if not shared:
        return no_number(NOT_TWO)
    sums: Matrix | float = 0.0
    known: Matrix | float = 0.0
    pairs = _pairs(items, shared)
    for cell, ratings in pairs.values():
        measure = cohen(ratings)
        values = resample(measure.features, cell, drawn, measure.formula)
        has = ~np.isnan(values)
        sums, known = sums + np.where(has, values, 0), known + has
    with np.errstate(invalid="ignore"):
        means = np.asarray(sums) / np.asarray(known)
    why = NO_PAIR if len(pairs) > 1 else ALL_EQUAL
    return number(means, shared, drawn, scale="signed share", undefined=why)


def _rater_pairs(items: Sequence[RatedItem], drawn: Resampling) -> list[RaterPair]:
    return [
        RaterPair(
            first=first,
            second=second,
            agreement=_number(percent_agreement(ratings), cell, drawn, "share"),
            cohen=_number(cohen(ratings), cell, drawn),
        )
        for (first, second), (cell, ratings) in _pairs(items, range(len(items))).items()
    ]


def _pairs(
    items: Sequence[RatedItem], cell: Sequence[int]
) -> dict[tuple[str, str], tuple[list[int], list[tuple[Rating, Rating]]]]:
    """For each two raters the items that both rated, and their ratings."""
    found: dict[tuple[str, str], tuple[list[int], list[tuple[Rating, Rating]]]] = defaultdict(
        lambda: ([], [])
    )
    for place in cell:
        ratings = items[place].ratings
        for first, second in combinations(items[place].raters, 2):
            places, both = found[first, second]
            places.append(place)
            both.append((ratings[first], ratings[second]))
    return dict(sorted(found.items()))
