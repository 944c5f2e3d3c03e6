from __future__ import annotations

import io
import re
import sys
from threading import Event
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

import replay
from replay.runs import progress
from replay.runs.launch import in_notebook
from replay.runs.progress import RunProgress
from tests.cli.compared_runs import scenario, write_talks
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
def at(monkeypatch):
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
