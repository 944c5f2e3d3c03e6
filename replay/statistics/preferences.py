"""
Two systems side by side: which of their answers people prefer.

A comparison ends in one of four ways: the first is better, the second is, they are equally good, or both
are bad. All four shares are given, since two good answers and two bad ones are not the same news. A **win
rate** is one number of them: wins, and half of the comparisons without a winner, over all comparisons. So
the win rates of both systems add up to 1, and one half means that neither is preferred.

Raters judge many turns of a conversation, so whole conversations are resampled, and swapped in the test
(``sign_flip.py``): if people had no preference, each conversation's could as well have been the other way
round. The p-values of all pairs together are corrected as Holm has it, totals for themselves and depths for
themselves. Who rates is taken as given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack, get_args

import numpy as np

from replay.statistics.bootstrap import Matrix
from replay.statistics.comparison import holm
from replay.statistics.estimate import (
    NumberWithInterval,
    Resampling,
    Sampling,
    by_depth,
    number,
    resample,
    resampling,
)
from replay.statistics.interval import UndefinedNumber
from replay.statistics.sign_flip import PERMUTATIONS, SignFlipTest, sign_flip_means

Outcome = Literal["first", "second", "tie", "both-bad"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
POINTS: Mapping[Outcome, float] = {"first": 1.0, "second": 0.0, "tie": 0.5, "both-bad": 0.5}
"""What the first system gets of a comparison; the second gets the rest."""
TURNED: Mapping[Outcome, Outcome] = {
    "first": "second",
    "second": "first",
    "tie": "tie",
    "both-bad": "both-bad",
}
"""The outcome for whoever names the systems in the other order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """One comparison by one rater."""

    conversation: str
    first: str
    """A system; *first* and *second* say nothing of the order in which their answers were shown."""
    second: str
    outcome: Outcome
    depth: int | None = None
    """The turn's; None where whole conversations are compared."""
    rater: str | None = None

    def in_order(self) -> Preference:
        """Return the same preference with the systems in alphabetical order."""
        if self.first < self.second:
            return self
        return replace(self, first=self.second, second=self.first, outcome=TURNED[self.outcome])


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceRow:
    """Two systems at one depth, or over all."""

    depth: int | None
    """None for all comparisons together."""
    counts: Mapping[Outcome, int]
    shares: Mapping[Outcome, NumberWithInterval]
    """The four add up to 1."""
    win_rates: tuple[NumberWithInterval, NumberWithInterval]
    """Of the first and of the second system, in [0, 1]; they add up to 1."""
    raters: int
    """Those that are named."""
    test: SignFlipTest
    """Whether the preference could be chance."""
    adjusted_p: float
    """Its p-value after Holm's correction over all pairs' totals, or over all pairs' depths."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; of all comparisons together, depth is null."""
        return {
            "depth": self.depth,
            "comparisons": sum(self.counts.values()),
            "conversations": self.win_rates[0].clusters,
            "raters": self.raters,
            "counts": dict(self.counts),
            "shares": {outcome: share.to_json() for outcome, share in self.shares.items()},
            "first_win_rate": self.win_rates[0].to_json(),
            "second_win_rate": self.win_rates[1].to_json(),
            "p": self.test.p,
            "p_holm": self.adjusted_p,
            "permutations": self.test.permutations,
            "exact": self.test.exact,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPreferences:
    """Two systems that were compared."""

    first: str
    second: str
    depths: tuple[PreferenceRow, ...]
    """The depths at which they were, depth 1 first."""
    total: PreferenceRow

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; the row of all comparisons has depth null."""
        return {
            "first": self.first,
            "second": self.second,
            "rows": [row.to_json() for row in (*self.depths, self.total)],
        }


def preferences_of(
    preferences: Sequence[Preference],
    *,
    permutations: int = PERMUTATIONS,
    **sampling: Unpack[Sampling],
) -> list[PairPreferences]:
    """
    Return one entry for each pair of systems that were compared, in alphabetical order.

    Raises:
        ValueError: a system was compared with itself.
    """
    ordered = in_order(preferences)
    drawn = resampling(
        [one.conversation for one in ordered],
        **sampling,
    )
    pairs: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(ordered):
        pairs.setdefault((one.first, one.second), []).append(place)
    found = []
    for (first, second), places in sorted(pairs.items()):
        cells = {
            depth: [places[position] for position in cell]
            for depth, cell in by_depth([ordered[place].depth for place in places]).items()
        }
        tests = sign_flip_means(
            _differences(ordered, cells, drawn), permutations=permutations, seed=drawn.weights.seed
        )
        *depths, total = (
            _row(ordered, depth, cell, drawn, test)
            for (depth, cell), test in zip(cells.items(), tests, strict=True)
        )
        found.append(PairPreferences(first=first, second=second, depths=tuple(depths), total=total))
    return _corrected(found)


def in_order(preferences: Sequence[Preference]) -> list[Preference]:
    """
    Return *preferences* with the systems of each in alphabetical order.

    Raises:
        ValueError: a system was compared with itself.
    """
    for one in preferences:
        if one.first == one.second:
            raise ValueError(
                f'conversation "{one.conversation}" compares system "{one.first}" with itself; '
                "name two systems"
            )
    return [one.in_order() for one in preferences]


def _row(
    ordered: Sequence[Preference],
    depth: int | None,
    cell: Sequence[int],
    drawn: Resampling,
    test: SignFlipTest,
) -> PreferenceRow:
    outcomes = [OUTCOMES.index(ordered[place].outcome) for place in cell]
    points = np.array([POINTS[outcome] for outcome in OUTCOMES])

    def formula(sums: Matrix) -> Matrix:
        shares = sums / sums.sum(axis=1, keepdims=True)
        return np.column_stack([shares, shares @ points, shares @ (1 - points)])

    values = resample(np.eye(len(OUTCOMES))[outcomes], cell, drawn, formula)
    none = UndefinedNumber(reason="no comparison")
    *shares, first, second = (number(one, cell, drawn, scale="share", undefined=none) for one in values.T)
    return PreferenceRow(
        depth=depth,
        counts={outcome: outcomes.count(place) for place, outcome in enumerate(OUTCOMES)},
        shares=dict(zip(OUTCOMES, shares, strict=True)),
        win_rates=(first, second),
        raters=len({ordered[place].rater for place in cell} - {None}),
        test=test,
        adjusted_p=test.p,
    )


def _differences(
    ordered: Sequence[Preference], cells: Mapping[int | None, Sequence[int]], drawn: Resampling
) -> Matrix:
    """
    Return wins minus losses of the second system in each conversation and cell.

    Shape (conversations, cells).
    """
    differences = np.zeros((drawn.weights.clusters, len(cells)))
    for column, cell in enumerate(cells.values()):
        for place in cell:
            differences[drawn.clusters[place], column] += 1 - 2 * POINTS[ordered[place].outcome]
    return differences


def _corrected(pairs: Sequence[PairPreferences]) -> list[PairPreferences]:
    totals = iter(holm([pair.total.test.p for pair in pairs]))
    depths = iter(holm([row.test.p for pair in pairs for row in pair.depths]))
    return [
        replace(
            pair,
            depths=tuple(replace(row, adjusted_p=next(depths)) for row in pair.depths),
            total=replace(pair.total, adjusted_p=next(totals)),
        )
        for pair in pairs
    ]
