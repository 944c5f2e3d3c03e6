"""
Live progress: a changing line on a terminal or in a notebook, elsewhere a plain one every ten seconds; of a
load run's level some lines for a terminal, or one for a log.
"""

from __future__ import annotations

import html
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.status import Status
from rich.text import Text

from replay.core.drift_evidence import Drift
from replay.core.record import TurnRecord
from replay.core.terminal import escape_unprintable, guard_streams, on_one_line
from replay.load.counting import Count
from replay.play.load.level import Level
from replay.play.play import Play
from replay.report.numbers import count_text
from replay.report.printing import print_lines
from replay.runs.following import WorkerProgress, in_one_line
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


PLAIN_EVERY_S = 10.0
LINE_EVERY_S = 0.1
TABLE_EVERY_S = 1.0
"""Of a load run; what is drawn more often takes time from what is measured."""
CELL_EVERY_S = 0.25
"""Each change is a message from a notebook's kernel to its page."""
ESTIMATE_AFTER_S = 5.0
"""Before that the pace is that of starting up."""
SPINNER_WIDTH = 2


class NotebookCell:
    """A bar and a line below a notebook's cell, changed in place; needs no widgets."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle = display(_bundle("starting", None), raw=True, display_id=True)

    def show(self, line: str, share: float | None) -> None:
        """
        Show *line* and a bar.

        Args:
            share: How much is done, in [0, 1]; None if that can't be known.
        """
        self._handle.update(_bundle(line, share), raw=True)


def _bundle(line: str, share: float | None) -> dict[str, str]:
    value = "" if share is None else f' value="{share:.4f}"'
    bar = f'<progress max="1"{value} aria-label="turns asked" style="width: 16em"></progress>'
    shown = f'<div class="tex2jax_ignore mathjax_ignore">{bar} {html.escape(escape_unprintable(line))}</div>'
    return {"text/plain": escape_unprintable(line), "text/html": shown}


class RunProgress:
    """Counts what the engine tells it."""

    def __init__(self, console: Console, cell: NotebookCell | None = None) -> None:
        self._console = console
        self._cell = cell
        self._status = Status("starting", console=console) if console.is_terminal and not cell else None
        self._begun = monotonic()
        self._said = monotonic()
        self._turns = 0
        self._expected = 0
        self._invalid = 0
        self._failed = 0
        self._plays = 0
        self._last_error = ""
        self._judging = ""
        self._detecting = ""
        self._players = ""
        self._load: LoadTable | None = None
        self._table: Live | None = None
        self._over = Event()

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
            guard_streams()  # it took their place, and would obey what others print meanwhile
        elif not self._cell:
            Thread(target=self._tell_while_nothing_happens, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._end_table()
        if self._status:
            self._status.stop()
        if self._cell:
            self._cell.show(self._line(), self._share)
        elif self._turns or self._judging:
            print_lines(self._console, [self._line()])

    def expects(self, turns: int) -> None:
        """Expect *turns* to be asked, if no conversation ends early; 0 if that isn't known."""
        self._expected = turns

    @property
    def _share(self) -> float | None:
        return min(1.0, self._turns / self._expected) if self._expected else None

    @property
    def _left_s(self) -> float | None:
        """Until all expected turns are asked, at the pace so far; None where that can't be told."""
        elapsed_s, left = monotonic() - self._begun, self._expected - self._turns
        if self._load or not self._turns or left <= 0 or elapsed_s < ESTIMATE_AFTER_S:
            return None
        return elapsed_s * left / self._turns

    def recorded(self, record: TurnRecord) -> None:
        self._turns += 1
        self._invalid += record.drift is not None and record.drift.invalid
        if record.failed:
            self._failed += 1
            self._last_error = record.error or record.outcome
        self._tell()

    def played(self, play: Play) -> None:
        self._plays += 1
        self._tell()

    def drift_detected(self, drifts: Sequence[Drift], left: int | None) -> None:
        """Add late verdicts on drift to the counts; *left* plays still wait for theirs."""
        self._invalid += sum(drift.invalid for drift in drifts)
        self._detecting = f"drift: {count_text(left, 'conversation')} left to look at" if left else ""
        self._tell()

    def players(self, players: Sequence[WorkerProgress]) -> None:
        """Show the workers that play, if it isn't this process alone."""
        self._players = in_one_line(players)
        self._tell()

    def level_began(self, level: Level) -> None:
        self._load = LoadTable(level, monotonic())
        if self._status:
            self._status.stop()  # it is drawn by a thread of its own, many times a second
            self._table = Live(console=self._console, auto_refresh=False, transient=True)
            self._table.start()
            guard_streams()
        self._tell()

    def _end_table(self) -> None:
        if self._table:
            self._table.stop()
            self._table = None

    def counted(self, count: Count) -> None:
        if self._load:
            self._load.add(count, monotonic())
        self._turns += count.turns
        self._invalid += count.invalid
        if count.failed:
            self._failed += count.failed
            self._last_error = count.last_error
        self._tell()

    def level_over(self, level: Level, result: Mapping[str, Any]) -> None:
        missed = [f"{g['goal']} missed ({_value_text(g['value'])})" for g in result["goals"] if not g["met"]]
        met = (
            "" if result["met"] is None else ", objectives met" if result["met"] else f", {'; '.join(missed)}"
        )
        turns, rate = self._load.pace(monotonic()) if self._load else (0, 0.0)
        self._load = None
        self._end_table()
        if self._status:
            self._status.start()
            guard_streams()
        print_lines(self._console, [f"{level.name}: {turns} turns ({rate:.0f}/s){met}"])

    def noticed(self, sentence: str) -> None:
        """Print a sentence that the user should know before anything is asked."""
        self._console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def judged(self, judge: str, done: int, cases: int) -> None:
        self._judging = f"judge {judge}: {done} of {cases}"
        self._tell()

    def _tell(self) -> None:
        now = monotonic()
        if self._table and self._load:
            if now - self._said >= TABLE_EVERY_S:
                self._said = now
                self._table.update(self._cut_lines(self._load.lines(now)), refresh=True)
        elif self._status or self._cell:
            if now - self._said >= (LINE_EVERY_S if self._status else CELL_EVERY_S):
                self._said = now
                if self._status:
                    self._status.update(self._shown_line())
                if self._cell:
                    self._cell.show(self._line(), self._share)
        elif now - self._said >= PLAIN_EVERY_S:
            self._said = now
            print_lines(self._console, [self._line()])

    def _tell_while_nothing_happens(self) -> None:
        """A slow system would otherwise look like a program that hangs."""
        while not self._over.wait(PLAIN_EVERY_S):
            self._tell()

    def _shown_line(self) -> Text:
        """Return the progress line, cut to the terminal's width, since a wrapped line would jump."""
        return self._cut_lines([self._line()], self._console.width - SPINNER_WIDTH)

    def _cut_lines(self, lines: Sequence[str], width: int | None = None) -> Text:
        texts = [Text(escape_unprintable(line)) for line in lines]
        for text in texts:
            text.truncate(width or self._console.width, overflow="ellipsis")
        return Text("\n").join(texts)

    def _line(self) -> str:
        if self._load:
            return self._load.line(monotonic())
        rate = self._turns / max(monotonic() - self._begun, 1e-9)
        parts = []
        count = f"{self._turns} of {self._expected}" if self._turns < self._expected else f"{self._turns}"
        if self._plays == 0 and self._turns:
            parts = [f"{count} turns"]
        elif self._turns or not (self._judging or self._detecting):
            parts = [f"{count_text(self._plays, 'conversation')} played", f"{count} turns ({rate:.0f}/s)"]
        if (left_s := self._left_s) is not None:
            parts.append(f"about {_roughly(left_s)} left")
        if self._players and not self._judging:
            parts.append(self._players)
        if self._invalid:
            parts.append(count_text(self._invalid, "invalid question"))
        if self._failed:
            parts.append(f"{self._failed} failed, last: {on_one_line(self._last_error)}")
        return ", ".join([*parts, *filter(None, (self._detecting, self._judging))])


def _roughly(duration_s: float) -> str:
    """``40 s``, ``12 min``, ``3 h``: as exact as an estimate is."""
    if duration_s < 100:
        return f"{10 * math.ceil(duration_s / 10)} s"
    return f"{math.ceil(duration_s / 60)} min" if duration_s < 6000 else f"{duration_s / 3600:.1f} h"


def _value_text(value: float | None) -> str:
    return "nothing measured" if value is None else f"{value:.3g}"
