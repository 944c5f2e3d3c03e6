"""
One scale for several systems that were compared two at a time: Bradley & Terry's strengths.

The chance that system i is preferred to system j is p_i/(p_i + p_j) (Bradley & Terry, *Rank analysis of
incomplete block designs*, Biometrika 39, 1952). A comparison without a winner is half a win for either. The
strengths given here are natural logarithms of p with mean 0: systems d apart have odds of e^d, and 0 is as
good as the average.

The likelihood is maximized by the MM algorithm (Hunter, *MM algorithms for generalized Bradley-Terry models*,
Annals of Statistics 32, 2004), which climbs with each step:

    p_i  <-  wins of i / sum over j of (comparisons of i and j)/(p_i + p_j)

There is a maximum only if, however the systems are divided into two groups, each group has won something from
the other (Ford, *Solution of a ranking problem from binary comparisons*, American Mathematical Monthly 64,
1957). Otherwise strengths would be infinite or not comparable, and are undefined. The same may happen in a
resample. Up to the share of resamples that an interval leaves out at either end this is left out, beyond it
there is no interval, since its end would be infinite.

The package ``choix`` finds the same strengths, one resample at a time: 971 ms for 1,000 of five systems,
where this takes 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from replay.statistics.bootstrap import Matrix
from replay.statistics.estimate import (
    NumberWithInterval,
    Resampling,
    Sampling,
    no_number,
    number,
    resample,
    resampling,
)
from replay.statistics.interval import UndefinedNumber, value_or_none
from replay.statistics.preferences import POINTS, Preference, in_order

SLOW = UndefinedNumber(reason="some system won nearly everything, so that its strength can't be computed")
STEPS = 10_000
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Systems on one scale, best first; in alphabetical order where there is no scale."""

    systems: Mapping[str, NumberWithInterval]
    """Natural logarithms with mean 0; ``items`` are a system's comparisons."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON, best first."""
        return {system: strength.to_json() for system, strength in self.systems.items()}


def bradley_terry(
    preferences: Sequence[Preference],
    **sampling: Unpack[Sampling],
) -> Strengths:
    """
    Return each system's strength in *preferences*, in any order, with intervals over conversations.

    Raises:
        ValueError: a system was compared with itself.
    """
    ordered = in_order(preferences)
    if not ordered:
        return Strengths(systems={})
    systems = sorted({name for one in ordered for name in (one.first, one.second)})
    place = {system: position for position, system in enumerate(systems)}
    size = len(systems)
    features = np.zeros((len(ordered), size, size))
    for wins, one in zip(features, ordered, strict=True):
        first, second = place[one.first], place[one.second]
        wins[first, second], wins[second, first] = POINTS[one.outcome], 1 - POINTS[one.outcome]
    cells = {
        system: [position for position, one in enumerate(ordered) if system in (one.first, one.second)]
        for system in systems
    }
    why = _why_undefined(features.sum(axis=0), systems)
    if why is not None:
        counts = {system: {ordered[i].conversation for i in cell} for system, cell in cells.items()}
        return Strengths(systems={s: no_number(why, len(cell), len(counts[s])) for s, cell in cells.items()})
    drawn = resampling(
        [one.conversation for one in ordered],
        **sampling,
    )
    values = resample(
        features.reshape(len(ordered), size**2),
        range(len(ordered)),
        drawn,
        lambda sums: _strengths(sums.reshape(-1, size, size)),
    )
    found = {
        system: _bounded(number(strengths, cell, drawn, scale="difference", undefined=SLOW), strengths, drawn)
        for (system, cell), strengths in zip(cells.items(), values.T, strict=True)
    }
    return Strengths(
        systems=dict(sorted(found.items(), key=lambda one: -float(value_or_none(one[1].value) or 0)))
    )


def _bounded(one: NumberWithInterval, strengths: Matrix, drawn: Resampling) -> NumberWithInterval:
    """Return *one*, without its interval if too many of its resampled *strengths* are undefined."""
    unknown = np.isnan(strengths[1 : drawn.weights.resamples + 1])
    if not len(unknown) or unknown.mean() <= (1 - drawn.confidence) / 2:
        return one
    return replace(
        one,
        interval=UndefinedNumber(
            reason=f"in {100 * unknown.mean():.1f} % of resamples systems can't be compared, "
            "or one wins everything"
        ),
    )


def _strengths(wins: Matrix) -> Matrix:
    """
    From how often one system (second axis) won against another (third): shape (rows, systems).

    NaN where there is no maximum, or the algorithm doesn't come near it in ``STEPS`` steps.
    """
    bounded = np.flatnonzero(_reached(wins).all(axis=(1, 2)))
    won, met = wins[bounded].sum(axis=2), wins[bounded] + wins[bounded].transpose(0, 2, 1)
    logs = np.zeros_like(won)
    left = np.arange(len(bounded))
    for _ in range(STEPS):
        if not len(left):
            break
        p = np.exp(logs[left])
        climbed = np.log(won[left] / (met[left] / (p[:, :, None] + p[:, None, :])).sum(axis=2))
        climbed -= climbed.mean(axis=1, keepdims=True)
        step = np.abs(climbed - logs[left]).max(axis=1)
        logs[left] = climbed
        left = left[step > _TOLERANCE]
    logs[left] = np.nan
    values = np.full(wins.shape[:2], np.nan)
    values[bounded] = logs
    return values


def _reached(wins: Matrix) -> NDArray[np.bool_]:
    """Return for each two systems whether a chain of wins leads from one to the other; to itself one does."""
    reached: NDArray[np.bool_] = (wins > 0) | np.eye(wins.shape[-1], dtype=bool)
    for _ in range(wins.shape[-1].bit_length()):  # chains of twice the length each time
        reached = reached @ reached
    return reached


def _why_undefined(wins: Matrix, systems: Sequence[str]) -> UndefinedNumber | None:
    def names(chosen: NDArray[np.bool_]) -> str:
        return ", ".join(system for system, among in zip(systems, chosen, strict=True) if among)

    connected = _reached(wins + wins.T)
    if not connected.all():
        return UndefinedNumber(
            reason=f"no comparisons lead from {names(connected[0])} to {names(~connected[0])}"
        )
    reached = _reached(wins)
    if reached.all():
        return None
    # Of a best group are all who beat one of it, directly or not, and who so were beaten in their turn.
    best = next(by for by, over in zip(reached.T, reached, strict=True) if not (by & ~over).any())
    return UndefinedNumber(
        reason=f"{names(best)} won every comparison with others, so that no strength is enough"
    )
