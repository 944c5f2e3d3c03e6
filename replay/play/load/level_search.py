"""
Looking for the highest level of load at which a system still meets its goals.

A search says which level to measure next and is told how it went. It decides by what it was told alone,
so an interrupted sweep goes on where it stood once it is told again what was measured.

It assumes that whoever misses at one level misses at every higher one. Measurements are noisy: with
``confirm`` a level counts as missed only after it has missed so many times, and as met as soon as it is
met once.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol


class Search(Protocol):
    """A search under way."""

    def next_level(self) -> float | None:
        """The level to measure now, the same until it is told; None when the search is over."""
        ...

    def tell(self, level: float, met: bool) -> None:
        """
        How it went at *level*, the one that ``next_level`` gave.

        Raises:
            ValueError: another level was asked for, or none.
        """
        ...

    @property
    def result(self) -> SearchResult:
        """What is known so far."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Where a system's knee is, as far as it was looked for."""

    knee: float | None
    """The highest level that met the goals with none below it that missed; None when the lowest one
    missed."""
    missed: float | None
    """The lowest level that missed, so that the system's limit is between the two; None when none did,
    and the limit may be beyond what was asked for."""


_Levels = Generator[float, bool, None]


class _Searching:
    """Drives a generator of levels that is sent how each went."""

    def __init__(self, levels: _Levels, confirm: int) -> None:
        if confirm < 1:
            raise ValueError(f"confirm is {confirm}, expected 1 or more")
        self._levels = levels
        self._confirm = confirm
        self._misses = 0
        self._met: list[float] = []
        self._missed: list[float] = []
        self._next: float | None = next(levels, None)

    def next_level(self) -> float | None:
        return self._next

    def tell(self, level: float, met: bool) -> None:
        if level != self._next:
            asked = "no level" if self._next is None else f"level {self._next:g}"
            raise ValueError(f"level {level:g} was told, but {asked} was asked for")
        if not met:
            self._misses += 1
            if self._misses < self._confirm:
                return
        self._misses = 0
        (self._met if met else self._missed).append(level)
        try:
            self._next = self._levels.send(met)
        except StopIteration:
            self._next = None

    @property
    def result(self) -> SearchResult:
        missed = min(self._missed, default=None)
        met = [level for level in self._met if missed is None or level < missed]
        return SearchResult(knee=max(met, default=None), missed=missed)


def steps(levels: Sequence[float], *, go_on: bool = False, confirm: int = 1) -> Search:
    """
    Up the list until the first level that misses, or with *go_on* all of it.

    Raises:
        ValueError: there is no level, one is not positive, or they don't go up.
    """
    if not levels:
        raise ValueError("there is no level to measure")
    for level in levels:
        _check_positive("a level", level)
    for lower, higher in pairwise(levels):
        if higher <= lower:
            raise ValueError(f"level {higher:g} comes after {lower:g}; levels go up")
    return _Searching(_steps(levels, go_on), confirm)


def _steps(levels: Sequence[float], go_on: bool) -> _Levels:
    for level in levels:
        met = yield level
        if not met and not go_on:
            return


def bisect(
    low: float, high: float, *, resolution: float = 0.1, whole: bool = False, confirm: int = 1
) -> Search:
    """
    Doubling from *low* until a level misses or *high* is reached, then halving what lies between.

    Over when the lowest level that missed is at most *resolution* (a share) above the highest that met,
    with *whole* levels also when they are neighbours. Each level is measured once (repeats aside), so
    there are at most ``log2(high / low) + 2 + log2(1 / resolution)`` of them, rounded up. When *low*
    misses, the search is over.

    Raises:
        ValueError: the bounds or the resolution make no sense.
    """
    _check_positive("low", low)
    _check_positive("high", high)
    _check_positive("the resolution", resolution)
    if high < low:
        raise ValueError(f"high is {high:g}, below low, {low:g}")
    if whole and not (float(low).is_integer() and float(high).is_integer()):
        raise ValueError(f"low is {low:g} and high {high:g}; expected whole numbers")
    return _Searching(_bisect(low, high, resolution, whole), confirm)


def _bisect(low: float, high: float, resolution: float, whole: bool) -> _Levels:
    met_at = 0.0
    level = low
    while True:
        if not (yield level):
            break
        if level >= high:
            return
        met_at, level = level, min(level * 2, high)
    if not met_at:
        return
    missed_at = level
    while missed_at - met_at > resolution * met_at:
        middle = (met_at + missed_at) / 2
        if whole:
            middle = float(math.floor(middle))
        if not met_at < middle < missed_at:
            return
        if (yield middle):
            met_at = middle
        else:
            missed_at = middle


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value:g}, expected a positive number")
