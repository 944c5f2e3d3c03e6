"""Who plays a run, what each is given to do, and its share of the limits."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from replay.core.asking.limits import Breaker, LocalTokenBucket, RateLimit
from replay.core.errors import AdapterRefusedError, RunStoppedError
from replay.report.numbers import count_text
from replay.results.run import Run
from replay.runs import following
from replay.runs.following import WorkerProgress, in_one_line
from replay.runs.launch import run_async
from replay.runs.progress import RunProgress
from replay.scenario.assembly import assemble
from replay.store.page_queries import RunBrowser
from replay.viewer.overview import facts
from replay.workers import process
from replay.workers.job import WorkerJob, keep_share, own_share, workers_within_limits
from replay.workers.process import SharedFailureCounts, shared_memory
from tests.data_tables import from_table
from tests.load.scenes import talk
from tests.scenario.keys import in_time, python, scenario
from tests.virtual_time import in_virtual_time, now
from tests.waiting import others_first
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
    monkeypatch.setattr(following, "UPDATED_EVERY_S", 0.0)
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
    who = following.WorkerStatus(clock=lambda: now[0])
    who.joined(0, "node a")
    who.joined(3, "node b")
    who.started(3)
    who._players[3].turns = 30
    now[0] = 2.0
    assert in_one_line(who.look()) == "1 plays (15/s), 1 starting"
    who._players[3].turns = 34
    now[0] = 4.0
    assert in_one_line(who.look()) == "1 plays (2/s), 1 starting"


@from_table
def test_all_are_one_line(states, line):
    assert in_one_line([WorkerProgress(name="n", state=state, turns_per_s=5.2) for state in states]) == line


async def test_it_is_shown_in_time(monkeypatch):
    """That a look is taken at the end as well is what a short run is shown by."""
    looks = []
    async with following.WorkerStatus().show_regularly(looks.append):
        await asyncio.sleep(0)
    assert looks == [[]]


def test_who_plays_needs_nothing_of_what_is_done_with_the_answers(tmp_path):
    content = {
        "name": "n",
        "data": {"path": "nowhere.jsonl"},
        "systems": [{"name": "s", "adapter": "scripted"}],
        "policies": ["gold"],
        "scorers": ["missing.py:Scorer"],
        "judges": [{"correctness": {"adapter": "missing.py:Model"}}],
        "assert": [{"metric": "f1", "min": 0.5}],
        "telemetry": {"file": "missing/spans.jsonl"},
        "load": {"conversations": 3, "slo": {"latency_p95": 1}},
    }
    here = {"text": yaml.safe_dump(content), "source": "s.yaml", "folder": str(tmp_path)}
    share = {"worker": 0, "workers": 1, "limits_among": 1}
    job = WorkerJob(**here, run="r", run_folder="runs/r", start=0.0, started_at=0.0, **share)
    assembly = assemble(job.scenario(), data_is_read=True)
    assert [assembly.scorers, assembly.judges, assembly.objectives] == [{}, (), ()]
    assert assembly.file.scenario.telemetry.traceparent, "asks say their place in a trace all the same"


@pytest.mark.parametrize(("asks", "among"), [(5, 2), (3, 3), (7, 4)])
async def test_shares_of_a_limit_are_together_the_limit(asks, among):
    waiting = []
    for index in range(among):
        limit = RateLimit(asks, 3600.0)
        keep_share(limit, index, among)
        waiting += [asyncio.create_task(limit.wait()) for _ in range(asks + 1)]
    await others_first()
    assert sum(task.done() for task in waiting) == asks
    for task in waiting:
        task.cancel()


@in_virtual_time
async def test_who_asks_beside_the_workers_keeps_to_a_share_while_they_play():
    limit = RateLimit(5, 60.0)
    limit.tokens = LocalTokenBucket(5, 60.0, clock=now)
    asked: list[int] = []

    async def ask() -> None:
        await limit.wait()
        asked.append(round(now()))

    async with own_share([limit], 2, 3):
        asking = [asyncio.create_task(ask()) for _ in range(6)]
        await asyncio.sleep(90)
    await asyncio.wait(asking)
    assert asked == [0, 60, 120, 150, 150, 150], "all of it once the workers' last asks count no longer"


@pytest.mark.parametrize(
    ("asks", "beside", "workers"), [((), False, 4), ((9, 3), False, 3), ((3,), True, 2), ((1,), True, 1)]
)
def test_no_more_workers_play_than_the_smallest_limit_can_be_divided_among(asks, beside, workers):
    limits = [RateLimit(number, 1.0) for number in asks]
    assert workers_within_limits(4, limits, asks_beside=beside) == workers


@pytest.fixture
def counts():
    """Those of two processes."""
    with shared_memory(2) as memory:
        yield [SharedFailureCounts(memory.fileno(), ["a", "b"]) for _ in range(2)]


def test_failures_of_all_processes_are_in_a_row_until_one_has_an_answer(counts):
    one, other = counts
    assert [one.failed("a"), other.failed("a"), other.failed("b"), one.failed("a")] == [1, 2, 1, 3]
    assert not one.has_answered("a")
    other.answered("a")
    assert one.has_answered("a")
    assert one.failed("a") == 1
    assert one.failed("b") == 2


async def test_a_process_stops_at_the_number_though_another_one_reached_it_first(counts):
    first, second = (Breaker(2, counts=each) for each in counts)
    refused = AdapterRefusedError("no", status=500)
    await first.failed("a", refused)
    await second.failed("a", refused)
    assert (first.stop is None, isinstance(second.stop, RunStoppedError)) == (True, True)
    await first.failed("a", refused)
    assert "brought 2 failures in a row" in str(first.stop)


def test_a_process_that_ends_takes_no_count_with_it(counts):
    if (child := os.fork()) == 0:
        counts[0].failed("a")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert counts[1].failed("a") == 2


@pytest.mark.parametrize(("cores", "workers", "threads"), [(8, 2, "4"), (8, 8, "1"), (2, 4, "1")])
def test_processes_share_the_cores_for_their_arithmetic(monkeypatch, cores, workers, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(process, "cpu_count", lambda: cores)
    assert process._environment(workers)["OMP_NUM_THREADS"] == threads
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert process._environment(workers)["OMP_NUM_THREADS"] == "3", "whoever has said it is heeded"


def test_all_else_is_as_here(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "some value")
    assert process._environment(2)["SOME_KEY"] == "some value"
