"""
One level of load: what is offered, for how long, and what came of it besides the turns themselves; and the
search for the highest level at which a system still meets its objectives.

A search is a generator of the levels to measure, which is sent whether each met them. It assumes that
whoever misses at one level misses at every higher one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from replay.core.load_record import GeneratorReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What is offered."""

    index: int
    """0 for the first of a run."""
    value: float | None
    """Concurrency, or conversations per second; None where arrivals are read."""
    is_open: bool
    """Whether conversations arrive whatever the system does."""
    start_s: float
    """When it begins, in seconds since the run's start."""
    ramp_s: float = 0.0
    warmup_s: float = 0.0
    duration_s: float | None = None
    conversations: int | None = None
    """Conversations begun at most."""
    turns: int | None = None
    """Turns asked at most."""

    @property
    def name(self) -> str:
        if self.value is None:
            return "as recorded"
        return f"{self.value:g} conversations/s" if self.is_open else f"concurrency {self.value:g}"

    @property
    def end_s(self) -> float | None:
        """Return when asking ends, in seconds since the run's start; None without a time limit."""
        return None if self.duration_s is None else self.start_s + self.warmup_s + self.duration_s

    @property
    def window_s(self) -> tuple[float, float]:
        """Return the measured time, in seconds since the run's start; turns that are due in it count."""
        return self.start_s + self.warmup_s, float("inf") if self.end_s is None else self.end_s

    def share(self, worker: int, workers: int) -> Level:
        """
        Return this level with the share of its load that *worker* (from 0) of *workers* offers.

        Only totals are divided; how arrivals are shared is decided elsewhere.
        """

        def part(total: float | None) -> int | None:
            return None if total is None else share_of(int(total), worker, workers)

        return replace(
            self,
            value=self.value if self.is_open else part(self.value),
            conversations=part(self.conversations),
            turns=part(self.turns),
        )


def share_of(total: int, worker: int, workers: int) -> int:
    """Return how many of *total* fall to *worker* (from 0); all shares together are the whole."""
    return total // workers + (worker < total % workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelOutcome:
    """What came of a level; times in seconds since the run's start."""

    ended_s: float
    conversations: int
    """Begun."""
    cut: int
    """Of these, ended because the level was over."""
    delayed: int
    """Arrivals that had to wait since as many conversations were open as may be."""
    generators: tuple[GeneratorReport, ...]
    """Who offered it."""
    unclosed: int = 0
    """Sessions that the systems could not close."""
    first_unclosed: str = ""
    """Why the first of them could not be closed."""


def together(parts: list[LevelOutcome]) -> LevelOutcome:
    """Return the combined outcome of a level that several processes played."""
    return LevelOutcome(
        ended_s=max(part.ended_s for part in parts),
        conversations=sum(part.conversations for part in parts),
        cut=sum(part.cut for part in parts),
        delayed=sum(part.delayed for part in parts),
        generators=tuple(generator for part in parts for generator in part.generators),
        unclosed=sum(part.unclosed for part in parts),
        first_unclosed=next((part.first_unclosed for part in parts if part.unclosed), ""),
    )


Search = Generator[float, bool, None]


def steps(levels: Sequence[float], *, go_on: bool = False) -> Search:
    """Yield the levels in order up to the first that misses; with *go_on*, all of them."""
    for level in levels:
        met = yield level
        if not met and not go_on:
            return


def bisect(low: float, high: float, *, resolution: float, whole: bool = False) -> Search:
    """
    Yield levels that double from *low* until one misses or *high* is reached, then bisect.

    Over when the lowest level that missed is at most *resolution* (a share) above the highest that met,
    with *whole* levels also when they are neighbours, and when *low* misses. Each level is measured once,
    so there are at most ``log2(high / low) + 2 + log2(1 / resolution)`` of them, rounded up.
    """
    met_at = 0.0
    missed_at = low
    while (yield missed_at):
        if missed_at >= high:
            return
        met_at, missed_at = missed_at, min(missed_at * 2, high)
    while met_at and missed_at - met_at > resolution * met_at:
        middle = (met_at + missed_at) / 2
        if whole:
            middle = float(middle // 1)
        if not met_at < middle < missed_at:
            return
        if (yield middle):
            met_at = middle
        else:
            missed_at = middle


def confirm(search: Search, times: int) -> Search:
    """Yield the levels of *search*, each until it is met once or missed *times* times."""
    level = next(search, None)
    while level is not None:
        for _ in range(times):
            met = yield level
            if met:
                break
        try:
            level = search.send(met)
        except StopIteration:
            return
