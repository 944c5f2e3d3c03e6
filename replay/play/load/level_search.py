"""
Looking for the highest level of load at which a system still meets its objectives.

A search is a generator of the levels to measure, which is sent whether each met them. It assumes that
whoever misses at one level misses at every higher one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

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
