"""The numbers of a load run's level while it goes on: some lines for a terminal, or one for a log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from replay.core.terminal import on_one_line
from replay.load.counting import Count
from replay.play.load.level import Level
from replay.report.numbers import count_text
from replay.statistics.load.histogram import DurationHistogram

NOW_S = 10.0
"""Turns of so many last seconds are those of now."""
MOST_DEPTHS = 10
"""Deeper turns share a line."""
WIDTH = 80


class LoadTable:
    """A level under way; moments are in seconds, by any clock."""

    def __init__(self, level: Level, now_s: float) -> None:
        self.level = level
        self.whole: Count = Count()
        self._began_s = now_s
        self._recent: deque[tuple[float, Count]] = deque()

    def add(self, count: Count, now_s: float) -> None:
        """Take *count*, what came since the last one."""
        self.whole.merge(count)
        self._recent.append((now_s, count))
        while self._recent[0][0] <= now_s - NOW_S:
            self._recent.popleft()

    def pace(self, now_s: float) -> tuple[int, float]:
        """Return the turns of the level so far, and how many a second they are."""
        return self.whole.turns, self.whole.turns / max(now_s - self._began_s, 1e-9)

    def _now(self, now_s: float) -> list[Count]:
        # A copy, for lines that a thread shows while nothing is counted.
        return [count for at_s, count in tuple(self._recent) if at_s > now_s - NOW_S]

    def lines(self, now_s: float) -> list[str]:
        """Return the table of now: the level, turns by depth, failures and drift."""
        span_s = max(min(NOW_S, now_s - self._began_s), 1e-9)
        by_depth: dict[int, DurationHistogram] = {}
        for count in self._now(now_s):
            for depth, histogram in count.latencies.items():
                by_depth.setdefault(min(depth, MOST_DEPTHS), DurationHistogram()).merge(histogram)
        whole = DurationHistogram()
        for histogram in by_depth.values():
            whole.merge(histogram)
        rows = [
            (f"{depth}+" if depth == MOST_DEPTHS else str(depth), by_depth[depth])
            for depth in sorted(by_depth)
        ]
        head = f"last {min(NOW_S, span_s):.0f} s, by depth"
        return [
            ", ".join(self._level_facts(now_s)),
            ", ".join(self._turn_facts(now_s)),
            f"{head:<20}{'answers/s':>11}{'p50 ms':>10}{'p95 ms':>10}",
            *(_row(name, histogram, span_s) for name, histogram in (*rows, ("all", whole))),
            *self._remarks(),
        ]

    def line(self, now_s: float) -> str:
        """Return the same in one line, with latencies of all depths together."""
        whole = DurationHistogram()
        for count in self._now(now_s):
            for histogram in count.latencies.values():
                whole.merge(histogram)
        found = whole.quantiles((0.5, 0.95))
        latency = [] if found is None else [f"p50 {_ms(found[0])} ms, p95 {_ms(found[1])} ms"]
        return ", ".join([*self._level_facts(now_s), *self._turn_facts(now_s), *latency, *self._remarks()])

    def _level_facts(self, now_s: float) -> Iterator[str]:
        level, elapsed_s = self.level, now_s - self._began_s
        yield f"level {level.index + 1}, {level.name}"
        if elapsed_s < level.warmup_s:
            yield "warming up"
        if level.duration_s is not None:
            yield f"{max(0.0, level.warmup_s + level.duration_s - elapsed_s):.0f} s left"

    def _turn_facts(self, now_s: float) -> Iterator[str]:
        level, (turns, rate) = self.level, self.pace(now_s)
        yield (
            f"{turns:,} turns ({rate:.0f}/s)"
            if level.turns is None
            else f"{turns:,} of {level.turns:,} turns"
        )
        yield f"{count_text(self.whole.begun - self.whole.ended, 'conversation')} under way"
        if level.conversations is not None:
            yield f"{self.whole.begun:,} of {level.conversations:,} begun"

    def _remarks(self) -> Iterator[str]:
        count = self.whole
        if count.failures:
            kinds = ", ".join(f"{number:,} {outcome}" for outcome, number in count.failures.most_common())
            yield f"failed: {kinds}, last: {on_one_line(count.last_error)}"
        if count.judged:
            share = 100 * count.invalid / count.judged
            yield f"drifted: {count.invalid:,} of {count.judged:,} questions ({share:.1f} %)"


def _row(name: str, latencies: DurationHistogram, span_s: float) -> str:
    found: Iterable[float | None] = latencies.quantiles((0.5, 0.95)) or (None, None)
    cells = "".join(f"{'-' if one is None else _ms(one):>10}" for one in found)
    return f"{name:>20}{latencies.count / span_s:>11.1f}{cells}"


def _ms(duration_s: float) -> str:
    return f"{1000 * duration_s:,.0f}" if duration_s >= 0.09995 else f"{1000 * duration_s:.1f}"
