"""The table of a load run under way, on a terminal (a real one, with a clock of ours) and in a log."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace
from rich.console import Console

from replay.core.record import TurnRecord
from replay.load.counting import Count
from replay.play.load.level import Level
from replay.runs import progress
from replay.runs.progress import MOST_DEPTHS, LoadTable, RunProgress
from tests.scorers.turns import INVALID, NOT_JUDGED, VALID
from tests.statistics.load_runs import ask

LEVEL = Level(index=1, value=4.0, is_open=False, start_s=0.0, warmup_s=2.0, duration_s=58.0)
OVER = {"goals": [], "met": None}


def counted(*records: TurnRecord, begun: int = 0, ended: int = 0) -> Count:
    count = Count(begun=begun, ended=ended)
    for record in records:
        count.add(record)
    return count


def answers(number: int, latency_s: float = 0.1, depth: int = 1) -> list[TurnRecord]:
    return [ask(1.0, latency_s, depth=depth) for _ in range(number)]


def test_turns_of_the_last_seconds_are_told_apart_by_depth() -> None:
    table = LoadTable(LEVEL, now_s=100.0)
    table.add(counted(*answers(500, 9.0)), 105.0)  # forgotten by then
    table.add(counted(*answers(20, 0.05), *answers(10, 0.2, depth=2), begun=7, ended=2), 116.0)

    lines = table.lines(120.0)

    assert lines[:2] == ["level 2, concurrency 4, 40 s left", "530 turns (26/s), 5 conversations under way"]
    assert [line.split() for line in lines[2:]] == [
        ["last", "10", "s,", "by", "depth", "answers/s", "p50", "ms", "p95", "ms"],
        ["1", "2.0", "50.0", "50.0"],
        ["2", "1.0", "200", "200"],
        ["all", "3.0", "50.0", "200"],
    ]
    assert table.line(120.0).endswith("5 conversations under way, p50 50.0 ms, p95 200 ms")


def test_what_several_workers_count_is_added_up() -> None:
    whole = Count()
    for depth in (1, 2):
        whole.merge(counted(*answers(3, depth=depth), ask(1.0, outcome="timed-out"), begun=2, ended=1))
    table = LoadTable(LEVEL, now_s=0.0)
    table.add(whole, 1.0)

    assert table.lines(1.0)[:2] == [
        "level 2, concurrency 4, warming up, 59 s left",
        "8 turns (8/s), 2 conversations under way",
    ]
    assert [line.split()[:2] for line in table.lines(1.0)[3:6]] == [
        ["1", "3.0"],
        ["2", "3.0"],
        ["all", "6.0"],
    ]


def test_failures_are_told_by_kind_and_drift_where_it_is_judged() -> None:
    failed = [
        ask(1.0, outcome=kind, error="no\nanswer \x1b[2J") for kind in ("refused", "timed-out", "refused")
    ]
    drifts = (VALID, INVALID, INVALID, NOT_JUDGED)
    judged = [replace(ask(1.0), drift=drift) for drift in drifts]
    table = LoadTable(LEVEL, now_s=0.0)
    table.add(counted(*failed, *judged), 10.0)

    assert table.lines(10.0)[-2:] == [
        "failed: 2 refused, 1 timed-out, last: no answer \\x1b[2J",
        "drifted: 2 of 3 questions (66.7 %)",
    ]
    assert not any("failed" in line or "drifted" in line for line in LoadTable(LEVEL, now_s=0.0).lines(1.0))


def test_deep_conversations_share_a_line_and_bounds_are_told() -> None:
    bounded = Level(index=0, value=2.0, is_open=True, start_s=0.0, conversations=1000, turns=5000)
    table = LoadTable(bounded, now_s=0.0)
    table.add(counted(*(one for depth in range(1, 40) for one in answers(1, depth=depth)), begun=3), 1.0)

    lines = table.lines(1.0)
    assert len(lines) == 3 + MOST_DEPTHS + 1
    assert lines[-2].split()[:2] == ["10+", "30.0"]
    assert "39 of 5,000 turns" in lines[1]
    assert "3 of 1,000 begun" in lines[1]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets what the clock says."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, seconds)


def test_without_a_terminal_a_line_comes_every_ten_seconds(at: Callable[[float], None]) -> None:
    pipe = io.StringIO()
    told = RunProgress(Console(file=pipe))
    told.level_began(LEVEL)
    for half_second in range(1, 51):
        at(half_second / 2)
        told.counted(counted(*answers(5)))
    told.level_over(LEVEL, OVER)

    first, second, over = pipe.getvalue().splitlines()
    assert first == (
        "level 2, concurrency 4, 50 s left, 100 turns (10/s), 0 conversations under way, "
        "p50 100 ms, p95 100 ms"
    )
    assert second.startswith("level 2, concurrency 4, 40 s left, 200 turns (10/s)")
    assert over == "concurrency 4: 250 turns (10/s)"


class Terminal:
    """A terminal of 80 columns: what was written to it, and what it shows."""

    def __init__(self) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 80, 0, 0))
        self.stream = os.fdopen(theirs, "w", buffering=1024 * 1024)
        self.lines = [""]
        self._row = self._column = 0

    def read(self) -> str:
        """Take what was written since the last time, and show it."""
        self.stream.flush()
        os.set_blocking(self._ours, False)
        written = b""
        while True:
            try:
                written += os.read(self._ours, 65536)
            except BlockingIOError:
                break
        text = written.decode()
        for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            self._take(part)
        return text

    def _take(self, part: str) -> None:
        if part == "\r":
            self._column = 0
        elif part == "\n":
            self._row += 1
            self.lines += [""] * (self._row + 1 - len(self.lines))
        elif not part.startswith("\x1b"):
            line = self.lines[self._row].ljust(self._column)
            self.lines[self._row] = line[: self._column] + part + line[self._column + len(part) :]
            self._column += len(part)
        elif part == "\x1b[1A":
            self._row -= 1
        elif part == "\x1b[2K":
            self.lines[self._row] = ""
        elif part[-1] not in "mlh":
            raise AssertionError(f"it does more than it needs to: {part!r}")

    def close(self) -> None:
        self.stream.close()
        os.close(self._ours)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
def test_on_a_terminal_the_table_is_drawn_in_place_once_a_second(
    at: Callable[[float], None], terminal: Terminal
) -> None:
    draws = []
    with RunProgress(Console(file=terminal.stream, _environ={"TERM": "xterm"})) as told:
        told.level_began(LEVEL)
        terminal.read()
        for half_second in range(1, 41):
            at(half_second / 2)
            late = [ask(1.0, outcome="refused", error="x" * 200)] if half_second > 20 else []
            told.counted(counted(*answers(2, depth=1 + half_second // 10), *late, begun=1))
            draws.append(terminal.read())
        shown = [line.rstrip() for line in terminal.lines if line.strip()]
        told.level_over(LEVEL, OVER)
        terminal.read()
        left = [line.rstrip() for line in terminal.lines if line.strip()]

    assert [bool(drawn) for drawn in draws] == [False, True] * 20
    assert max(map(len, shown)) <= 80
    assert shown[:2] == ["level 2, concurrency 4, 40 s left", "100 turns (5/s), 40 conversations under way"]
    assert [line.split()[0] for line in shown[3:-1]] == ["3", "4", "5", "all"]
    assert shown[-1].startswith("failed: 20 refused, last: xxx")
    assert all("\x1b[2J" not in drawn for drawn in draws), "nothing is cleared that could flicker"
    assert left[0] == "concurrency 4: 100 turns (5/s)"
    assert "answers/s" not in "".join(left)
