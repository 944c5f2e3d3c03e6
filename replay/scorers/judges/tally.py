"""
What a run keeps of its judges beside the verdicts, how sure each is of itself, and what a reader should
know of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from replay.core.asking.costs import AskTally


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far a judge's repeats lie apart."""

    turns: int
    """Turns that have a value in every repeat; only they are compared."""
    means: tuple[float, ...]
    """The mean over those turns, repeat by repeat."""
    std: float
    """Standard deviation of the means (n - 1)."""
    low: float
    high: float
    turn_std: float
    """Standard deviation of a turn's own values, averaged over the turns."""


def spread_of(values: Sequence[Sequence[float | None]]) -> Spread | None:
    """
    Return the spread of *values*, one sequence per turn with a value (or None) per repeat.

    None without a turn that has all its values, or with fewer than two repeats.
    """
    whole = [[v for v in turn if v is not None] for turn in values if all(v is not None for v in turn)]
    repeats = len(whole[0]) if whole else 0
    if repeats < 2:
        return None
    means = tuple(math.fsum(turn[n] for turn in whole) / len(whole) for n in range(repeats))
    return Spread(
        turns=len(whole),
        means=means,
        std=_std(means),
        low=min(means),
        high=max(means),
        turn_std=math.fsum(map(_std, whole)) / len(whole),
    )


def _std(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


@dataclass(slots=True, kw_only=True)
class FlagCount:
    """How often one thing made verdicts doubtful."""

    first: str
    """The first turn where it did, for somebody to look at."""
    times: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSummary:
    """What a run keeps of one judge beside the verdicts."""

    name: str
    signature: str
    units: Mapping[str, str]
    """What each of its columns counts in, in the order of the columns."""
    lower_is_better: tuple[str, ...] = ()
    """Those of the columns of which less is better."""
    tally: AskTally = field(default_factory=AskTally)
    spread: Mapping[str, Spread] = field(default_factory=dict)
    """By column; empty with a single repeat."""
    flags: Mapping[str, FlagCount] = field(default_factory=dict)
    """By what was doubtful."""


def remarks(judged: Sequence[JudgeSummary]) -> list[str]:
    """Return plain sentences, judge by judge."""
    return [f"judge {one.name}: {sentence}" for one in judged for sentence in _about(one)]


def _about(judged: JudgeSummary) -> Iterable[str]:
    yield from judged.tally.sentences()
    for flag, found in judged.flags.items():
        yield (
            f"{flag}: {found.times:,} time{'' if found.times == 1 else 's'} in {found.turns:,} "
            f"turn{'' if found.turns == 1 else 's'}, the first one {found.first}."
        )
    for column, spread in judged.spread.items():
        yield (
            f"{len(spread.means)} repeats of {column} over {spread.turns:,} turns: mean "
            f"{sum(spread.means) / len(spread.means):.3g}, from {spread.low:.3g} to {spread.high:.3g}, "
            f"standard deviation {spread.std:.2g}; {spread.turn_std:.2g} within a turn."
        )
