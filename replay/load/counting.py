"""What is counted while a load run goes on: for its display, and for turns that are not kept one by one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.core.record import TurnRecord
from replay.play.load.generator_report import LatenessCounter
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
