"""Several processes that share a load."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import sys
from collections import Counter

import numpy as np
import pytest

from replay.core.errors import ReplayError, RunStoppedError, ScenarioError
from replay.results.run import Run, newest_run
from replay.runs.launch import run_async
from tests.adapters.servers import http
from tests.load.processes import workers_of_this_process
from tests.load.scenes import Body, Server, level_events, play, play_at, reply, scenario, talk
from tests.reliability.test_killed_workers import has_turn_key
from tests.waiting import PATIENCE_S, takes
from tests.workers.inside import started_inside

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


async def slow(body: Body, writer: asyncio.StreamWriter) -> None:
    await takes(0.01)
    await reply(body, writer)


async def test_two_processes_play_what_one_plays(tmp_path):
    played = {}
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        server = Server(slow)
        load = {"concurrency": 5, "conversations": 11, "order": "sample", "workers": workers}
        run = await play_at(server, folder, load, seed=3)
        assert server.most <= 5
        assert len(server.asked) == len(run.records()) == 22, "all in one database"
        played[workers] = Counter((r.conversation, r.source, r.depth) for r in run.records())
        (level,) = level_events(run)
        assert (level["conversations"], level["cut"]) == (11, 0)
        offered = level["generators"]
        assert [(one["number"], one["host"]) for one in offered] == [
            (n, platform.node()) for n in range(workers)
        ]
        assert sum(one["conversations"] for one in offered) == 11
        assert sum(one["lateness"]["asks"] for one in offered) == 22
        assert all(one["busy"] > 0 and one["lag"] and one["clock"] is None for one in offered)
    assert played[1] == played[2]
    assert not workers_of_this_process()


async def test_arrivals_of_two_processes_are_those_of_one(tmp_path, monkeypatch):
    started_inside(monkeypatch)
    load = {"profile": "constant", "rate": 80, "conversations": 41, "workers": 2}
    server = Server()
    run = await play_at(server, tmp_path, load, talks=[talk("a", 1)])
    due = sorted(record.timing.scheduled_s for record in run.records() if record.timing)
    assert len(due) == 41
    assert np.diff(due) == pytest.approx(1 / 80, abs=1e-6)


async def test_turns_are_never_more_than_asked_for_and_the_rest_is_tallied(tmp_path, monkeypatch):
    started_inside(monkeypatch)
    server = Server()
    load = {"concurrency": 4, "turns": 51, "keep_turns": 21, "workers": 2}
    run = await play_at(server, tmp_path, load)
    assert len(server.asked) == 51
    assert len(run.records()) == 21
    assert run.outcomes() == {"answered": 51}


async def test_failures_in_a_row_are_those_of_all_processes(tmp_path, monkeypatch):
    async def down(body: Body, writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"{}", status="500 Internal Server Error"))
        await writer.drain()

    started = started_inside(monkeypatch)
    server = Server(down)
    load = {"concurrency": 2, "turns": 40, "workers": 2}
    async with server.running() as address:
        with pytest.raises(RunStoppedError, match="4 failures in a row"):
            await play(tmp_path, load, address=address, play={"stop_after": 4})
    assert len(started) == 2
    assert len(server.asked) <= 5, "what the other one was just asking"


async def test_a_worker_that_is_killed_ends_the_run_with_all_that_was_answered(tmp_path):
    server = Server(slow)
    file = scenario(
        tmp_path, {"concurrency": 6, "duration_s": 30, "workers": 2}, talks=[talk("a", 4)], address="http://X"
    )
    async with server.running() as address:
        (tmp_path / "load.yaml").write_text(file.text.replace("http://X", address))
        running = asyncio.create_task(run_async(str(tmp_path / "load.yaml"), runs=tmp_path / "runs"))
        await server.until_asked(100)
        first, *_ = workers_of_this_process()
        os.kill(first, signal.SIGKILL)
        with pytest.raises(ReplayError, match=r"worker \d of the load ended before it was done.*is kept"):
            await asyncio.wait_for(running, PATIENCE_S)
    run = Run(newest_run(tmp_path / "runs"))
    answered = run.outcomes()["answered"]
    assert server.answered - 6 <= answered <= server.answered
    assert len({(r.conversation, r.depth) for r in run.records()}) == answered
    (level,) = level_events(run)
    assert level["interrupted"]
    assert run.load_summary(resamples=0).levels[0].total.answered_turns == answered
    assert has_turn_key(run)
    assert not workers_of_this_process()


async def test_a_system_that_refuses_our_key_stops_all_workers(tmp_path, monkeypatch):
    async def no(body: Body, writer: asyncio.StreamWriter) -> None:
        writer.write(http(b'{"error": {"message": "bad key"}}', status="401 Unauthorized"))
        await writer.drain()

    started_inside(monkeypatch)
    server = Server(no)
    async with server.running() as address:
        with pytest.raises(RunStoppedError, match="refused us before it answered anything"):
            await play(tmp_path, {"concurrency": 4, "duration_s": 20, "workers": 2}, address=address)
    assert len(server.asked) <= 8


@pytest.mark.parametrize(
    "load",
    [{"concurrency": 2, "turns": 9}, {"sweep": {"levels": [2, 8]}, "duration_s": 1}],
    ids=["one level", "sweep"],
)
def test_each_worker_needs_a_user(tmp_path, load):
    with pytest.raises(ScenarioError, match="each of 3 workers needs a user of its own, and there are 2"):
        scenario(tmp_path, {**load, "workers": 3})
