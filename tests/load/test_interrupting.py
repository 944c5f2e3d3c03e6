"""Ctrl-C at full load: nothing that was answered is lost, nobody is left behind."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from replay.results.run import Run, newest_run
from tests.load.processes import replaying
from tests.load.scenes import Body, Server, level_events, reply, scenario, talk
from tests.waiting import takes, until_async

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and sends signals")

USERS = 32


async def quick(body: Body, writer: asyncio.StreamWriter) -> None:
    await takes(0.001)
    await reply(body, writer)


@pytest.mark.parametrize(
    ("workers", "keep_turns"),
    [
        (1, 50),
        pytest.param(2, 2_000_000, marks=pytest.mark.long),
        pytest.param(1, 2_000_000, marks=pytest.mark.long),
        pytest.param(2, 50, marks=pytest.mark.long),
    ],
)
async def test_ctrl_c_at_full_load_loses_nothing(tmp_path, workers, keep_turns):
    server = Server(quick)
    load = {"concurrency": USERS, "duration_s": 60, "workers": workers, "keep_turns": keep_turns}
    async with server.running() as address:
        scenario(tmp_path, load, talks=[talk("a", 4)], address=address)
        async with replaying("stress", "load.yaml", folder=tmp_path) as command:
            await server.until_asked(400)
            command.signal(signal.SIGINT)
            code, _, err = await command.ended()
            await command.all_gone()
        assert code == 130
        assert "interrupted: what was answered is kept; look at it with: replay report" in err
        assert "Traceback" not in err
        run = Run(newest_run(tmp_path / "runs"))
        kept = run.outcomes()["answered"]
        assert server.answered - USERS <= kept <= server.answered
        assert len(run.records()) == min(kept, keep_turns)
        (level,) = level_events(run)
        assert level["interrupted"]
        async with replaying("report", folder=tmp_path) as command:
            code, out, _ = await command.ended()
    assert code == 0
    assert "interrupted: the numbers are those of the part that was played" in " ".join(out.split())
    assert f"{kept:,} turns in" in out


async def test_ctrl_c_while_workers_start_ends_quietly(tmp_path):
    server = Server(quick)
    async with server.running() as address:
        load = {"concurrency": 2, "duration_s": 60, "workers": 2}
        scenario(tmp_path, load, address=address)
        async with replaying("stress", "load.yaml", folder=tmp_path) as command:
            await until_async(lambda: list(tmp_path.glob("runs/*/run.db")))
            command.signal(signal.SIGINT)
            code, _, err = await command.ended()
            await command.all_gone()
    assert code == 130
    assert "Traceback" not in err
    assert "interrupted: what was answered is kept" in err


async def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path):
    server = Server(quick)
    async with server.running() as address:
        load = {"concurrency": USERS, "duration_s": 60, "workers": 2}
        scenario(tmp_path, load, talks=[talk("a", 4)], address=address)
        async with replaying("stress", "load.yaml", folder=tmp_path) as command:
            await server.until_asked(100)
            command.process.kill()
            await command.ended()
            await command.all_gone()
    run = Run(newest_run(tmp_path / "runs"))
    assert 0 < len(run.records()) <= server.answered
