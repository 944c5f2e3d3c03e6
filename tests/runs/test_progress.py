"""How far a run has come: a line, a notebook's cell, and the table of a load run, on a real terminal too."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from threading import Event
from types import ModuleType, SimpleNamespace

import pytest
from msgspec.structs import replace
from rich.console import Console

import replay
from replay.core.record import TurnRecord
from replay.load.counting import Count
from replay.play.load.level import Level
from replay.runs import progress
from replay.runs.launch import in_notebook
from replay.runs.progress import MOST_DEPTHS, LoadTable, RunProgress
from tests.cli.compared_runs import scenario, write_talks
from tests.scorers.turns import INVALID, NOT_JUDGED, VALID
from tests.statistics.load_runs import ask
from tests.viewer.runs import record
from tests.waiting import PATIENCE_S


class Heard(io.StringIO):
    """A pipe whose reader waits for a line."""

    def __init__(self) -> None:
        super().__init__()
        self.line = Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "\n" in text:
            self.line.set()
        return written


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets what the clock says."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, seconds)


@pytest.mark.parametrize(
    ("seconds", "turns", "estimate"),
    [
        (10, 20, "about 50 s left"),
        (10, 1, "about 20 min left"),
        (10, 120, None),
        (1, 20, None),
        (200, 1, "about 6.6 h left"),
    ],
)
def test_how_long_it_will_take_follows_from_the_pace_so_far(at, seconds, turns, estimate):
    told = RunProgress(Console(file=io.StringIO()))
    told.expects(120)
    at(seconds)
    for depth in range(turns):
        told.recorded(record("c", depth + 1))

    assert ("left" in told._line()) == (estimate is not None)
    assert (estimate or "") in told._line()


def test_a_line_comes_every_ten_seconds(at):
    pipe = io.StringIO()
    told = RunProgress(Console(file=pipe))
    told.expects(120)
    for second in range(1, 31):
        at(second)
        told.recorded(record("c", second))

    assert [line.split(",")[0] for line in pipe.getvalue().splitlines()] == [
        f"{turns} of 120 turns" for turns in (10, 20, 30)
    ]
    assert "about 90 s left" in pipe.getvalue().splitlines()[-1]


def test_a_line_comes_while_nothing_is_answered(monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.001)
    pipe = Heard()

    with RunProgress(Console(file=pipe)) as told:
        told.expects(120)
        assert pipe.line.wait(PATIENCE_S)
    assert "0 conversations played" in pipe.getvalue()


TALKS, TURNS = 3, 2
ALL = TALKS * TURNS * 2
"""Under two policies."""


@pytest.fixture
def content(tmp_path):
    write_talks(tmp_path, TALKS, TURNS)
    return scenario(tmp_path, "gold", scorers=[])


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook's kernel is asked to show, in place of each other."""
    shown: list[dict[str, str]] = []

    def display(bundle, *, raw, display_id):
        assert raw
        assert display_id
        shown.append(bundle)
        return SimpleNamespace(update=lambda bundle, *, raw: shown.append(bundle))

    ipython, ours = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    ours.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ours)
    monkeypatch.setattr("replay.runs.progress.CELL_EVERY_S", 0.0)
    return shown


def test_a_program_is_shown_nothing_unless_it_asks(content, tmp_path, capfd):
    replay.run(content, runs=tmp_path / "runs")
    assert capfd.readouterr() == ("", "")

    replay.run(content, runs=tmp_path / "runs", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(rf"6 conversations played, {ALL} turns \(\d+/s\)\n", err)


def test_a_notebook_is_shown_a_bar_that_fills(content, tmp_path, notebook, capfd):
    replay.run(content, runs=tmp_path / "runs")
    shares = [float(found[1]) for one in notebook if (found := re.search(r'value="(.*?)"', one["text/html"]))]

    assert notebook[0]["text/plain"] == "starting"
    assert set(shares) - {0.0} == {round(n / ALL, 4) for n in range(1, ALL + 1)}
    assert shares == sorted(shares)
    assert f"{ALL} turns" in notebook[-1]["text/plain"]
    assert any(f"5 of {ALL} turns" in one["text/plain"] for one in notebook)
    assert capfd.readouterr() == ("", "")


def test_a_notebook_is_shown_nothing_where_that_is_said_or_an_observer_looks(content, tmp_path, notebook):
    replay.run(content, runs=tmp_path / "runs", progress=False)
    observer = SimpleNamespace(recorded=lambda record: None, played=lambda play: None)
    run = replay.run(content, runs=tmp_path / "runs", observer=observer)
    with pytest.raises(ValueError, match="give one of them"):
        replay.run(content, runs=tmp_path / "runs", observer=observer, progress=True)
    assert notebook == []

    replay.resume(run.folder)
    assert notebook[0]["text/plain"] == "starting"
    assert "value" not in notebook[-1]["text/html"], "nothing was left to be asked"


def test_what_a_system_says_is_no_markup_in_it(content, tmp_path, notebook):
    def broken(question):
        raise RuntimeError("<b>$x$</b>\x1b[31m")

    content["systems"] = [{"name": "s", "adapter": broken}]
    replay.run(content, runs=tmp_path / "runs")

    assert "&lt;b&gt;$x$&lt;/b&gt;\\x1b[31m" in notebook[-1]["text/html"]
    assert "mathjax_ignore" in notebook[-1]["text/html"]
    assert "6 of 12 turns" in notebook[-1]["text/plain"], "what was never reached is not called done"


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch):
    assert not in_notebook()
    ipython = ModuleType("IPython")
    ipython.get_ipython = SimpleNamespace
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not in_notebook()


LEVEL = Level(index=1, value=4.0, is_open=False, start_s=0.0, warmup_s=2.0, duration_s=58.0)
OVER = {"goals": [], "met": None}


def counted(*records: TurnRecord, begun: int = 0, ended: int = 0) -> Count:
    count = Count(begun=begun, ended=ended)
    for one in records:
        count.add(one)
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
