"""The program that plays a run on a real cluster killed, and started again."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter

import pytest

from replay.results.run import newest_run
from replay.runs.launch import resume_async
from tests.load.scenes import Server, reply, talk
from tests.scenario.keys import in_time, scenario
from tests.waiting import takes
from tests.workers.cluster.dying import durable_turns
from tests.workers.test_plays import asking, last

RUN = "import sys, replay; replay.run(sys.argv[1], runs=sys.argv[2], progress=False)"


async def slow(body, writer):
    await takes(0.05)
    await reply(body, writer)


@pytest.mark.long
async def test_a_killed_program_s_run_goes_on_with_what_its_nodes_have(tmp_path, on_two_nodes):
    server = Server(slow)
    async with server.running() as address:
        talks = [talk(name, 10) for name in "abcdef"]
        cluster = {**on_two_nodes, "folder": str(tmp_path / "parts")}
        scenario(tmp_path, talks=talks, system=asking(address), play={"concurrency": 4}, cluster=cluster)
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", RUN, str(tmp_path / "keys.yaml"), str(tmp_path / "runs"))
        )
        await server.until_asked(15)
        program.send_signal(signal.SIGKILL)
        await program.wait()
        run = await in_time(resume_async(newest_run(tmp_path / "runs")))
    assert len(run.records()) == 60
    assert {r.outcome for r in run.records()} == {"answered"}
    asked = Counter(map(last, server.asked))
    assert asked.total() <= 60 + 4, "at most what was under way"
    assert not durable_turns(tmp_path) - {(r.conversation, r.depth) for r in run.records()}
    assert not list(tmp_path.glob("parts/*"))
