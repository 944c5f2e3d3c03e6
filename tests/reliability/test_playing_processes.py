"""Real processes that play a run together: killed, interrupted, left without the one that started them."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter

import pytest

from replay.results.run import Run, newest_run
from replay.runs.launch import resume_async
from tests.load.processes import replaying
from tests.load.scenes import Server, reply, talk
from tests.reliability.test_killed_workers import children
from tests.scenario.keys import scenario
from tests.waiting import takes, until_async

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
    pytest.mark.long,
]
CONVERSATIONS, TURNS, TOGETHER = 12, 4, 4
MAIN = "replay.workers.worker_main"


async def slow(body, writer):
    await takes(0.01)
    await reply(body, writer)


def write_scenario(folder, address):
    system = {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "m"}}
    talks = [talk(f"talk{n}", TURNS) for n in range(CONVERSATIONS)]
    play = {"workers": 2, "concurrency": TOGETHER}
    scenario(folder, talks=talks, system=system, play=play)


def asked(server):
    return Counter(body["messages"][-1]["content"] for body in server.asked)


def all_are_there(run, server, under_way):
    """Nothing is lost, and nothing asked twice but what *under_way* conversations were just asking."""
    assert len(run.records()) == CONVERSATIONS * TURNS
    assert {record.outcome for record in run.records()} == {"answered"}
    assert len(asked(server)) == CONVERSATIONS * TURNS
    assert asked(server).total() <= CONVERSATIONS * TURNS + under_way


async def test_a_killed_process_leaves_its_conversations_to_the_other(tmp_path):
    server = Server(slow)
    async with server.running() as address:
        write_scenario(tmp_path, address)
        async with replaying("run", "keys.yaml", folder=tmp_path) as command:
            await server.until_asked(20)
            os.kill(children(command.process.pid, MAIN)[0], signal.SIGKILL)
            code, out, err = await command.ended()
            await command.all_gone()
    assert code == 0, err
    assert "Traceback" not in err
    assert "Lost while they played: process " in " ".join(out.split())
    all_are_there(Run(newest_run(tmp_path / "runs")), server, TOGETHER // 2)


@pytest.mark.parametrize("after", [1, 20])
async def test_processes_end_with_the_one_that_started_them_and_a_resume_ends_the_run(tmp_path, after):
    server = Server(slow)
    async with server.running() as address:
        write_scenario(tmp_path, address)
        async with replaying("run", "keys.yaml", folder=tmp_path) as command:
            await server.until_asked(after)
            command.process.kill()
            await command.all_gone()
        durable = {r.asked for r in Run(newest_run(tmp_path / "runs")).records()}
        run = await resume_async(newest_run(tmp_path / "runs"))
    all_are_there(run, server, TOGETHER)
    assert all(asked(server)[question] == 1 for question in durable)


async def test_a_process_that_is_busy_ends_with_the_one_that_started_it_too(tmp_path):
    """Its event loop hears of nothing while a function of somebody's computes."""
    (tmp_path / "bot.py").write_text(
        "import os, pathlib, time\n"
        "async def answer(question):\n"
        "    (pathlib.Path(__file__).parent / f'busy-{os.getpid()}').touch()\n"
        "    while True: time.sleep(1)\n",
        "utf-8",
    )
    system = {"adapter": "python", "settings": {"target": "bot.py:answer"}}
    scenario(tmp_path, system=system, play={"workers": 2, "concurrency": 2})
    async with replaying("run", "keys.yaml", folder=tmp_path) as command:
        await until_async(lambda: len(list(tmp_path.glob("busy-*"))) == 2)
        command.process.kill()
        await command.all_gone()


async def test_ctrl_c_keeps_what_was_answered_and_a_resume_goes_on(tmp_path):
    server = Server(slow)
    async with server.running() as address:
        write_scenario(tmp_path, address)
        async with replaying("run", "keys.yaml", folder=tmp_path) as command:
            await server.until_asked(20)
            command.signal(signal.SIGINT)
            code, _, err = await command.ended()
            await command.all_gone()
        assert code == 130
        assert "go on with: replay resume" in err
        assert "Traceback" not in err
        run = Run(newest_run(tmp_path / "runs"))
        assert server.answered - TOGETHER <= len(run.records()) < CONVERSATIONS * TURNS
        async with replaying("resume", "--workers", "2", folder=tmp_path) as command:
            code, _, err = await command.ended()
    assert code == 0, err
    all_are_there(run, server, TOGETHER)


async def test_a_second_ctrl_c_ends_all_at_once(tmp_path):
    server = Server(slow)
    async with server.running() as address:
        write_scenario(tmp_path, address)
        async with replaying("run", "keys.yaml", folder=tmp_path) as command:
            await until_async(lambda: children(command.process.pid, MAIN))
            command.signal(signal.SIGINT)
            command.signal(signal.SIGINT)
            code, _, _ = await command.ended()
            await command.all_gone()
    assert code == 130
