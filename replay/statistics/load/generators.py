"""
Those who offered a level's load, and how each of them kept up: as the run's database keeps it.

Their percentiles can't be added: what a reader must know is how the worst of them did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """Of a generator's event loop while it asked."""

    samples: int
    p50_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LatenessStats:
    """How long after they could be sent asks were sent."""

    asks: int
    p50_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """How far another machine's clock is ahead of that of the program that played the run."""

    offset_s: float
    uncertainty_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorStats:
    """This process, a process or an actor of a cluster; see ``replay.play.load.generator_report``."""

    number: int
    """From 0."""
    host: str
    conversations: int
    busy: float | None = None
    """CPU time over time in the measured window."""
    lateness: LatenessStats | None = None
    lag: Lag | None = None
    clock: Clock | None = None
    clock_moved_s: float | None = None


def latest(generators: Sequence[GeneratorStats]) -> GeneratorStats | None:
    """The one that was latest, by the 99th percentile; None where no lateness is known."""
    known = [(one.lateness.p99_s, one.lateness.max_s, one) for one in generators if one.lateness]
    return max(known, key=lambda each: each[:2])[2] if known else None


def most_lagging(generators: Sequence[GeneratorStats]) -> GeneratorStats | None:
    """The one whose event loop lagged most, by the 99th percentile; None where no lag is known."""
    known = [(one.lag.p99_s, one.lag.max_s, one) for one in generators if one.lag]
    return max(known, key=lambda each: each[:2])[2] if known else None


def busiest(generators: Sequence[GeneratorStats]) -> GeneratorStats | None:
    """
    The busiest of those that asked over a wire; None where there is none.

    A system within the generator's own process is what keeps it busy.
    """
    known = [(one.busy, one) for one in generators if one.busy is not None and one.lag]
    return max(known, key=lambda each: each[0])[1] if known else None
