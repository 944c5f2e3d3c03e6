"""
How one of those who offer a load kept up, this process, a process or an actor of a cluster; and how far
another machine's clock is ahead of this one's, by ping-pong.

The other clock is asked several times, and the exchange with the least round trip is believed, since what
is wrong with it can be no more than half of that (Cristian, *Probabilistic clock synchronization*,
Distributed Computing 3, 1989; NTP chooses among its samples alike: RFC 5905, section 10). Both are
monotonic: what they show says nothing by itself, and no time service sets them.
"""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Callable, Hashable
from time import perf_counter

from replay.core.load_record import ClockOffset, LatenessSummary
from replay.core.record import TurnRecord
from replay.statistics.load.histogram import DurationHistogram

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


_TOGETHER = 4096
"""So many latenesses are counted at once, which takes a tenth of the time."""


class LatenessCounter:
    """
    How late one generator sends.

    From when a turn was due, or from the end of the turn before where that was later: nobody asks on before
    there is an answer. As ``replay.statistics.load.load_level.generator_lateness``, but it counts on when
    records are no longer kept.
    """

    def __init__(self) -> None:
        self._first, self._later = _Durations(), _Durations()
        self._done_s: dict[Hashable, float] = {}

    def add(self, record: TurnRecord, *, counts: bool) -> None:
        """Add the next *record* of its play; its lateness is only included if it *counts*."""
        timing = record.timing
        if timing is None:
            return
        play = (record.conversation, record.system, record.policy)
        before_s = self._done_s.get(play)
        self._done_s[play] = timing.done_s
        # Of a retried turn the moment of sending is that of the last attempt.
        if not counts or record.attempts > record.asks:
            return
        if before_s is None:
            self._first.add(timing.sent_s - timing.scheduled_s)
        else:
            self._later.add(timing.sent_s - max(timing.scheduled_s, before_s))

    def forget(self, conversation: str, system: str, policy: str) -> None:
        """Forget a play that is over."""
        self._done_s.pop((conversation, system, policy), None)

    def take(self, *, first_turns: bool) -> LatenessSummary | None:
        """
        Return a summary of the lateness counted since the last call, and start over; None if there is none.

        Args:
            first_turns: Whether first turns count. They don't where arrivals had to wait for others.
        """
        taken, self._first, self._later = (self._first, self._later), _Durations(), _Durations()
        whole = DurationHistogram()
        for durations in taken if first_turns else taken[1:]:
            whole.merge(durations.histogram())
        quantiles = whole.quantiles((0.5, 0.99, 1.0))
        if quantiles is None:
            return None
        p50, p99, most = quantiles
        return LatenessSummary(asks=whole.count, p50_s=p50, p99_s=p99, max_s=most)


class _Durations:
    def __init__(self) -> None:
        self._new = array("d")
        self._counted = DurationHistogram()

    def add(self, duration_s: float) -> None:
        self._new.append(duration_s)
        if len(self._new) >= _TOGETHER:
            self.histogram()

    def histogram(self) -> DurationHistogram:
        """Return a histogram of all durations."""
        import numpy as np

        self._counted.record_all(np.array(self._new))
        self._new = array("d")
        return self._counted
