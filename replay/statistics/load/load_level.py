"""
One level of a load run: what was offered, what came of it, and how far the generator itself kept up.

The percentiles of those who offered it can't be added: what a reader must know is how the worst of them did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from replay.core.load_record import GeneratorReport, LevelPlayed
from replay.statistics.group import Group
from replay.statistics.load.asks import Asks, Floats
from replay.statistics.load.load_cell import LoadCell, LoadTally, Percentiles, picked_asks


def latest(generators: Sequence[GeneratorReport]) -> GeneratorReport | None:
    """Return the generator with the largest 99th percentile of lateness; None if no lateness is known."""
    known = [(one.lateness.p99_s, one.lateness.max_s, one) for one in generators if one.lateness]
    return max(known, key=lambda each: each[:2])[2] if known else None


def most_lagging(generators: Sequence[GeneratorReport]) -> GeneratorReport | None:
    """Return the generator whose event loop lagged most, by the 99th percentile; None if no lag is known."""
    known = [(one.lag.p99_s, one.lag.max_s, one) for one in generators if one.lag]
    return max(known, key=lambda each: each[:2])[2] if known else None


def busiest(generators: Sequence[GeneratorReport]) -> GeneratorReport | None:
    """
    Return the busiest of the generators that asked over a network; None if there is none.

    A system within the generator's own process is what keeps it busy.
    """
    known = [(one.busy, one) for one in generators if one.busy is not None and one.lag]
    return max(known, key=lambda each: each[0])[1] if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Per second of the measured window; None where it has no length."""

    conversations_due: float | None
    """Conversations whose first turn was due in the window."""
    turns_due: float | None
    """Turns that were due in it: the load that was offered."""
    attempts: float | None
    """Requests for these, retries included."""
    turns_answered: float | None
    """Answers that were complete within the window: the load that the system bore. Turns that were only
    tallied count where they were due."""
    conversations_ended: float | None
    """Conversations whose last turn was over within the window; None where turns were only tallied."""
    tokens: float | None
    """Tokens of the answers complete within the window; None where their number isn't known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """Asks that met every goal that a single ask can be held against."""

    limits_s: Mapping[str, float]
    """The longest time allowed, by measure."""
    asks: int
    """Measured asks that were kept one by one."""
    good: int
    per_s: float | None

    @property
    def share(self) -> float | None:
        return self.good / self.asks if self.asks else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorKind:
    """Measured asks that failed alike."""

    outcome: str
    turns: int
    first_s: float | None
    """When the first of those kept was due."""
    first_message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoad:
    """One system under one policy at one level."""

    group: Group
    total: LoadCell
    depths: Mapping[int, LoadCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSummary:
    """Numbers of the asks that were due in the level's measured window."""

    played: LevelPlayed
    warm_up_turns: int
    """Asked before the window or after it, and in none of the numbers."""
    rates: Rates
    tokens_from: str | None
    """``usage``: the system said how many; ``pieces``: counted in the stream; ``usage and pieces``."""
    total: LoadCell
    groups: tuple[GroupLoad, ...]
    goodput: Goodput | None
    """None without goals for single asks."""
    errors: tuple[ErrorKind, ...]
    lateness: Percentiles | None
    """How late the generator was, see ``generator_lateness``."""
    warnings: tuple[str, ...] = field(default=())


def rates(
    asks: Asks,
    level: LevelPlayed,
    chosen: NDArray[np.intp],
    last_turns: NDArray[np.intp],
    tallies: Sequence[LoadTally] = (),
) -> Rates:
    """
    Return the rates of *level*, whose measured asks are *chosen* and those in *tallies*.

    *last_turns* are the positions of the last turn of every conversation that was played.
    """
    length = level.measured_s
    tallied = sum(tally.turns for tally in tallies)

    def per_s(count: int) -> float | None:
        return count / length if length > 0 else None

    def within(moments: Floats) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = (moments >= level.measured_from_s) & (moments < level.measured_to_s)
        return inside

    tokens = asks.tokens[complete := within(asks.done_s) & asks.is_answered]
    known = tokens[tokens >= 0]
    begun = int((asks.depth[chosen] == 1).sum()) + sum(t.turns for t in tallies if t.depth == 1)
    answered = int(complete.sum()) + sum(tally.outcomes.get("answered", 0) for tally in tallies)
    return Rates(
        conversations_due=per_s(begun),
        turns_due=per_s(len(chosen) + tallied),
        attempts=per_s(int(asks.attempts[chosen].sum()) + tallied),
        turns_answered=per_s(answered),
        conversations_ended=None if tallied else per_s(int(within(asks.done_s[last_turns]).sum())),
        tokens=None if tallied or not len(known) else per_s(int(known.sum())),
    )


def generator_lateness(
    asks: Asks, chosen: NDArray[np.intp], before_done_s: Floats, level: LevelPlayed
) -> Floats:
    """
    Return how long after it could be sent each of *chosen* was sent.

    From when it was due, or from the end of the turn before where that was later: nobody asks on before
    there is an answer, and that wait is the system's. Left out are turns that were retried, whose moment of
    sending is that of the last attempt, and first turns where arrivals had to wait for others to end.
    """
    asked = chosen[asks.attempts[chosen] <= asks.asks[chosen]]
    if level.delayed:
        asked = asked[asks.depth[asked] > 1]
    lateness: Floats = asks.sent_s[asked] - np.maximum(asks.scheduled_s[asked], before_done_s[asked])
    return lateness


def tokens_from(asks: Asks, chosen: NDArray[np.intp]) -> str | None:
    """Return the source of the *chosen* asks' token counts: pieces, usage or both; None if none."""
    counted = asks.tokens_are_pieces[chosen][asks.tokens[chosen] >= 0]
    if not len(counted):
        return None
    if counted.all():
        return "pieces"
    return "usage and pieces" if counted.any() else "usage"


def goodput(
    asks: Asks, chosen: NDArray[np.intp], limits_s: Mapping[str, float] | None, level: LevelPlayed
) -> Goodput | None:
    """
    Of asks each of whose times is within its limit; one that an answer doesn't have is not, but for the time
    per token of an answer of one (vLLM's benchmark counts it as 0 too).
    """
    if not limits_s:
        return None
    picked = picked_asks(asks, chosen)
    good = picked.is_answered
    for measure, limit_s in limits_s.items():
        durations_s: Floats = getattr(picked, f"{measure}_s")
        within = durations_s <= limit_s
        good &= within | np.isnan(durations_s) if measure.startswith("tpot") else within
    count = int(good.sum())
    length = level.measured_s
    return Goodput(
        limits_s=dict(limits_s),
        asks=len(chosen),
        good=count,
        per_s=count / length if length > 0 else None,
    )
