"""
How far another machine's clock is ahead of this one's, by ping-pong.

The other clock is asked several times, and the exchange with the least round trip is believed, since what is
wrong with it can be no more than half of that (Cristian, *Probabilistic clock synchronization*, Distributed
Computing 3, 1989; NTP chooses among its samples alike: RFC 5905, section 10). Both are monotonic: what they
show says nothing by itself, and no time service sets them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter

from replay.core.load_record import ClockOffset

EXCHANGES = 8


async def clock_offset(
    read_there: Callable[[], Awaitable[float]],
    *,
    clock: Callable[[], float] = perf_counter,
    exchanges: int = EXCHANGES,
) -> ClockOffset:
    """
    Return the offset of a remote clock to *clock*, from the exchange with the least uncertainty.

    Args:
        read_there: Reads the remote clock, in seconds; its exceptions are passed on.
        clock: The local clock, in seconds.
        exchanges: How often the clocks are compared.
    """
    found = [await _exchange(read_there, clock) for _ in range(exchanges)]
    return min(found, key=lambda one: one.uncertainty_s)


async def _exchange(read_there: Callable[[], Awaitable[float]], clock: Callable[[], float]) -> ClockOffset:
    asked = clock()
    there = await read_there()
    half_s = (clock() - asked) / 2
    return ClockOffset(offset_s=there - (asked + half_s), uncertainty_s=half_s)
