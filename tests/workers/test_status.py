"""Who plays a run while it goes on, as a terminal and a page show it."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

from replay.report.numbers import count_text
from replay.results.run import Run
from replay.runs import following
from replay.runs.launch import run_async
from replay.runs.progress import RunProgress
from replay.store.page_queries import RunBrowser
from replay.viewer.overview import facts
from replay.workers import status as worker_status
from replay.workers.status import WorkerProgress, in_one_line
from tests.load.scenes import talk
from tests.scenario.keys import in_time, python, scenario
from tests.workers.inside import started_inside

TALKS = [talk(name, 3) for name in "abcdef"]


WAITING = """
import asyncio, pathlib

async def answer(request):
    while request.question.endswith("3?") and not pathlib.Path({seen!r}).exists():
        await asyncio.sleep(0.001)
    return "So."
"""
"""Whose third turns are answered once a turn has been seen by whoever watches the run."""


class Watching(RunProgress):
    """Keeps what it is told, and makes the file *seen* once that has a turn."""

    def __init__(self, seen: Path | None = None) -> None:
        super().__init__(Console(file=io.StringIO()))
        self.looks: list[list[tuple[str, str, int]]] = []
        self._seen = seen

    def players(self, players) -> None:
        super().players(players)
        self.looks.append([(one.name, one.state, one.turns) for one in players])
        if self._seen and any(one.turns for one in players):
            self._seen.touch()


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(worker_status, "UPDATED_EVERY_S", 0.0)
    monkeypatch.setattr(following, "READ_EVERY_S", 0.0)


async def watched(folder, watching, system) -> Run:
    play = {"workers": 2, "concurrency": 2}
    file = scenario(folder, talks=TALKS, play=play, system=system)
    return await in_time(run_async(file, runs=folder / "runs", observer=watching))


def on_the_page(run: Run) -> dict[str, str]:
    return {one.name: one.value for one in facts(run, RunBrowser(run.folder), state="running").about}


async def test_each_process_is_shown_with_its_turns_while_the_run_goes_on(tmp_path, monkeypatch, at_once):
    started_inside(monkeypatch)
    watching = Watching(tmp_path / "seen")
    run = await watched(tmp_path, watching, python(tmp_path, WAITING.format(seen=str(tmp_path / "seen"))))

    last = watching.looks[-1]
    assert [name for name, _, _ in last] == ["process 1 of 2", "process 2 of 2"]
    assert sum(turns for _, _, turns in last) == len(run.records()) == 18
    assert all(turns for _, _, turns in last), "both played"
    assert any(0 < sum(turns for _, _, turns in look) < 18 for look in watching.looks), "and was told before"
    assert on_the_page(run)["Played by process 1 of 2"] == f"{last[0][2]} turns"


async def test_one_that_was_lost_is_said_to_be(tmp_path, monkeypatch, at_once):
    inside = started_inside(monkeypatch)

    class Killing(Watching):
        def recorded(self, record) -> None:
            super().recorded(record)
            inside[0].kill()

    watching = Killing()
    run = await watched(tmp_path, watching, {"settings": {"delay_s": 0.005}})

    name, _, turns = next(one for one in watching.looks[-1] if one[1] == "lost")
    assert [(one[0], one[1]) for one in watching.looks[-1]] == [
        ("process 1 of 2", "lost"),
        ("process 2 of 2", "playing"),
        ("process 1 of 2, begun again", "playing"),
    ]
    assert watching._line().endswith(", 2 play (0 + 0/s), 1 lost")
    assert sum(one[2] for one in watching.looks[-1]) == len(run.records()) == 18
    assert on_the_page(run)[f"Played by {name}"] == f"{count_text(turns, 'turn')}, lost"


async def test_a_run_of_one_process_says_nothing_of_it(tmp_path):
    watching = Watching()
    run = await in_time(run_async(scenario(tmp_path), runs=tmp_path / "runs", observer=watching))

    assert not watching.looks
    assert not [name for name in on_the_page(run) if name.startswith("Played by")]


def test_rates_are_those_since_the_last_look():
    now = [0.0]
    who = worker_status.WorkerStatus(clock=lambda: now[0])
    who.joined(0, "node a")
    who.joined(3, "node b")
    who.started(3)
    who._players[3].turns = 30
    now[0] = 2.0
    assert in_one_line(who.look()) == "1 plays (15/s), 1 starting"
    who._players[3].turns = 34
    now[0] = 4.0
    assert in_one_line(who.look()) == "1 plays (2/s), 1 starting"


@pytest.mark.parametrize(
    ("states", "line"),
    [
        ([], ""),
        (["starting"], "1 starting"),
        (["playing", "playing"], "2 play (5 + 5/s)"),
        (["lost"], "1 lost"),
    ],
)
def test_all_are_one_line(states, line):
    assert in_one_line([WorkerProgress(name="n", state=state, turns_per_s=5.2) for state in states]) == line


async def test_it_is_shown_in_time(monkeypatch):
    """That a look is taken at the end as well is what a short run is shown by."""
    looks = []
    async with worker_status.WorkerStatus().shown(looks.append):
        await asyncio.sleep(0)
    assert looks == [[]]
