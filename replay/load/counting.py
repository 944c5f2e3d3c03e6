"""
What is counted while a load run goes on: for its display, and for turns that are not kept one by one; and how
late one of those who offer the load sends.
"""

from __future__ import annotations

import asyncio
from array import array
from collections import Counter
from collections.abc import Awaitable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.core.load_record import LatenessSummary
from replay.core.record import TurnRecord
from replay.play.player import RecordSink
from replay.statistics.load.histogram import DurationHistogram


@dataclass(slots=True)
class Count:
    """Turns since it was last looked at."""

    turns: int = 0
    failed: int = 0
    invalid: int = 0
    last_error: str = ""
    judged: int = 0
    """With a verdict on drift."""
    begun: int = 0
    """Conversations."""
    ended: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """By outcome."""
    latencies: dict[int, DurationHistogram] = field(default_factory=dict)
    """Of answers, by depth."""

    def add(self, record: TurnRecord) -> None:
        self.turns += 1
        if record.drift is not None:
            self.invalid += record.drift.invalid
            self.judged += record.drift.valid is not None
        if record.failed:
            self.failed += 1
            self.last_error = record.error or record.outcome
            self.failures[record.outcome] += 1
        elif record.timing is not None:
            if (histogram := self.latencies.get(record.depth)) is None:
                histogram = self.latencies[record.depth] = DurationHistogram()
            histogram.record(record.timing.latency_s)

    def merge(self, other: Count) -> None:
        self.turns += other.turns
        self.failed += other.failed
        self.invalid += other.invalid
        self.last_error = other.last_error or self.last_error
        self.judged += other.judged
        self.begun += other.begun
        self.ended += other.ended
        self.failures.update(other.failures)
        for depth, histogram in other.latencies.items():
            self.latencies.setdefault(depth, DurationHistogram()).merge(histogram)


@dataclass(slots=True)
class Tally:
    """Turns of one system, policy and depth that were counted, not kept."""

    outcomes: Counter[str] = field(default_factory=Counter)
    durations: dict[str, DurationHistogram] = field(
        default_factory=lambda: {name: DurationHistogram() for name in ("latency", "response", "ttft")}
    )
    """Of those that were answered."""

    def add(self, record: TurnRecord) -> None:
        self.outcomes[record.outcome] += 1
        timing = record.timing
        if timing is not None and record.outcome == "answered":
            self.durations["latency"].record(timing.latency_s)
            self.durations["response"].record(timing.response_s)
            if timing.ttft_s is not None:
                self.durations["ttft"].record(timing.ttft_s)

    def merge(self, other: Tally) -> None:
        self.outcomes += other.outcomes
        for name, histogram in self.durations.items():
            histogram.merge(other.durations[name])

    def data(self) -> dict[str, Any]:
        """Return the counts as the run's database stores them."""
        histograms = {
            name: histogram.encode() if histogram.count else None
            for name, histogram in self.durations.items()
        }
        return {"turns": self.outcomes.total(), "outcomes": dict(self.outcomes), **histograms}


TallyKey = tuple[int, str, str, int]
"""Level, system, policy, depth."""


class Counts:
    """What was counted, until somebody takes it."""

    def __init__(self) -> None:
        self.count: Count = Count()
        self.tallies: dict[TallyKey, Tally] = {}

    def merge(self, count: Count, tallies: Mapping[TallyKey, Tally]) -> None:
        self.count.merge(count)
        for key, tally in tallies.items():
            self.tallies.setdefault(key, Tally()).merge(tally)

    def take_count(self) -> Count:
        """Return the counts since the last call, and start again at 0."""
        count, self.count = self.count, Count()
        return count

    def take_tallies(self) -> dict[TallyKey, Tally]:
        """Return the counts of turns since the last call that were counted only, and start again."""
        tallies, self.tallies = self.tallies, {}
        return tallies


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


class CountingSink:
    """
    Hands the first *keep* records on to *sink* and only counts later ones, so that a run of days fits
    on a disk.
    """

    def __init__(self, sink: RecordSink, keep: int) -> None:
        self._sink = sink
        self._left = keep
        self.level = 0
        """Whose records come now."""
        self.window_s: tuple[float, float] = (0.0, float("inf"))
        """Of the level: what is due outside of it is warm-up."""
        self.counts: Counts = Counts()
        self.lateness: LatenessCounter = LatenessCounter()

    def write(self, record: TurnRecord) -> Awaitable[None]:
        if record.is_end:
            return self._sink.write(record)
        self.counts.count.add(record)
        timing = record.timing
        begin, end = self.window_s
        measured = timing is None or begin <= timing.scheduled_s < end
        self.lateness.add(record, counts=measured)
        if self._left > 0:
            self._left -= 1
            return self._sink.write(record)
        if measured:
            key = (self.level, record.system, record.policy, record.depth)
            self.counts.tallies.setdefault(key, Tally()).add(record)
        return asyncio.sleep(0)
