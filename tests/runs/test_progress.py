"""Progress where there is no terminal: a line every ten seconds, with an estimate."""

from __future__ import annotations

import io
from threading import Event

import pytest
from rich.console import Console

from replay.runs import progress
from replay.runs.progress import RunProgress
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
