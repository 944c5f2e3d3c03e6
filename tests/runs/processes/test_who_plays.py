"""Who plays a run while it goes on, as a terminal and a page show it."""

from __future__ import annotations

import asyncio
import io

import pytest
from rich.console import Console

from replay.report.pages.overview import facts
from replay.runs import players
from replay.runs.launch import run_async
from replay.runs.processes import who_plays
from replay.runs.processes.who_plays import Player, in_one_line
from replay.runs.progress import Progress
from replay.runs.run import Run
from replay.store.browsing import RunBrowser
from tests.runs.processes.inside import started_inside
from tests.runs.stress.scenes import talk
from tests.scenario.keys import in_time, scenario

TALKS = [talk(name, 3) for name in "abcdef"]


class Watching(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__(Console(file=io.StringIO()))
        self.looks: list[list[tuple[str, str, int]]] = []

    def players(self, players) -> None:
        super().players(players)
        self.looks.append([(one.name, one.state, one.turns) for one in players])


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(who_plays, "UPDATED_EVERY_S", 0.0)


async def watched(folder, watching) -> Run:
    file = scenario(folder, talks=TALKS, play={"workers": 2, "concurrency": 2})
    return await in_time(run_async(file, runs=folder / "runs", observer=watching))


def on_the_page(run: Run) -> dict[str, str]:
    return {one.name: one.value for one in facts(run, RunBrowser(run.folder), state="running").about}


async def test_each_process_is_shown_with_its_turns_while_the_run_goes_on(tmp_path, monkeypatch, at_once):
    started_inside(monkeypatch)
    watching = Watching()
    run = await watched(tmp_path, watching)

    last = watching.looks[-1]
    assert [name for name, _, _ in last] == ["process 1 of 2", "process 2 of 2"]
    assert sum(turns for _, _, turns in last) == len(run.records()) == 18
    assert all(turns for _, _, turns in last), "both played"
    assert any(0 < sum(turns for _, _, turns in look) < 18 for look in watching.looks), "and was told before"
    assert on_the_page(run)["Played by process 1 of 2"] == f"{last[0][2]} turns"


async def test_one_that_was_lost_is_said_to_be(tmp_path, monkeypatch, at_once):
    inside = started_inside(monkeypatch)
    watching = Watching()
    kept, keep_rows = [], players._Host.keep_rows

    async def killing(host, rows, answered):
        await keep_rows(host, rows, answered)
        kept.extend(rows)
        if len(kept) >= 4:
            inside[0].kill()

    monkeypatch.setattr(players._Host, "keep_rows", killing)
    run = await watched(tmp_path, watching)

    name, _, turns = next(one for one in watching.looks[-1] if one[1] == "lost")
    assert sorted(state for _, state, _ in watching.looks[-1]) == ["lost", "playing"]
    assert watching._line().endswith(", 1 plays (0/s), 1 lost")
    assert len(run.records()) == 18
    assert on_the_page(run)[f"Played by {name}"] == f"{turns} turns, lost"


async def test_a_run_of_one_process_says_nothing_of_it(tmp_path):
    watching = Watching()
    run = await in_time(run_async(scenario(tmp_path), runs=tmp_path / "runs", observer=watching))

    assert not watching.looks
    assert not [name for name in on_the_page(run) if name.startswith("Played by")]


def test_rates_are_those_since_the_last_look():
    now = [0.0]
    who = who_plays.WhoPlays(clock=lambda: now[0])
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
    assert in_one_line([Player(name="n", state=state, turns_per_s=5.2) for state in states]) == line


async def test_it_is_shown_in_time(monkeypatch):
    """That a look is taken at the end as well is what a short run is shown by."""
    looks = []
    async with who_plays.WhoPlays().shown(looks.append):
        await asyncio.sleep(0)
    assert looks == [[]]
