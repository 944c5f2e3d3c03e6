"""What is counted while a load run goes on: for its display, and for turns that are not kept one by one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from replay.core.record import TurnRecord
from replay.play.load.histogram import DurationHistogram
from replay.play.player import RecordSink


@dataclass(slots=True)
class Count:
    """Turns since it was last looked at."""

    turns: int = 0
    failed: int = 0
    invalid: int = 0
    last_error: str = ""

    def add(self, record: TurnRecord) -> None:
        self.turns += 1
        self.invalid += record.drift is not None and not record.drift.valid
        if record.failed:
            self.failed += 1
            self.last_error = record.error or record.outcome

    def merge(self, other: Count) -> None:
        self.turns += other.turns
        self.failed += other.failed
        self.invalid += other.invalid
        self.last_error = other.last_error or self.last_error


@dataclass(slots=True)
class Tally:
    """Turns of one system, policy and depth that were counted, not kept."""

    turns: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    latency: DurationHistogram = field(default_factory=DurationHistogram)
    response: DurationHistogram = field(default_factory=DurationHistogram)
    ttft: DurationHistogram = field(default_factory=DurationHistogram)

    def add(self, record: TurnRecord) -> None:
        self.turns += 1
        self.outcomes[record.outcome] += 1
        timing = record.timing
        if timing is not None and record.outcome == "answered":
            self.latency.record(timing.latency_s)
            self.response.record(timing.response_s)
            if timing.ttft_s is not None:
                self.ttft.record(timing.ttft_s)

    def merge(self, other: Tally) -> None:
        self.turns += other.turns
        self.outcomes += other.outcomes
        for name in ("latency", "response", "ttft"):
            getattr(self, name).merge(getattr(other, name))

    def data(self) -> dict[str, Any]:
        """As the run's database keeps it."""
        histograms = {
            name: histogram.encode() if (histogram := getattr(self, name)).count else None
            for name in ("latency", "response", "ttft")
        }
        return {"turns": self.turns, "outcomes": dict(self.outcomes), **histograms}


TallyKey = tuple[int, str, str, int]
"""Level, system, policy, depth."""


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
        self.count = Count()
        self.tallies: dict[TallyKey, Tally] = {}

    def write(self, record: TurnRecord) -> Awaitable[None]:
        self.count.add(record)
        if self._left > 0:
            self._left -= 1
            return self._sink.write(record)
        timing = record.timing
        begin, end = self.window_s
        if timing is None or begin <= timing.scheduled_s < end:
            key = (self.level, record.system, record.policy, record.depth)
            self.tallies.setdefault(key, Tally()).add(record)
        return asyncio.sleep(0)

    def taken_count(self) -> Count:
        """What was counted since the last call."""
        count, self.count = self.count, Count()
        return count

    def taken_tallies(self) -> dict[TallyKey, Tally]:
        """The tallies of the level, which begin anew."""
        tallies, self.tallies = self.tallies, {}
        return tallies
