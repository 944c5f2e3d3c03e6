"""The program that plays a run killed, and started again: nothing is lost, nothing durable is asked again."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections import Counter

import pytest

from replay.results.run import newest_run
from replay.runs.launch import resume_async
from replay.runs.rerun import rerun_async
from tests.load.scenes import Server, reply, talk
from tests.scenario.keys import in_time, played, scenario
from tests.waiting import others_first, takes, until_async
from tests.workers.cluster.dying import DyingProgram, durable_turns
from tests.workers.test_plays import TALKS, asking, last

TURNS = 18
RUN = "import sys, replay; replay.run(sys.argv[1], runs=sys.argv[2], progress=False)"


async def with_history(body, writer):
    """An answer that says how much history it was asked with."""
    await takes(random.uniform(0, 0.003))
    await reply(body, writer, f"{last(body)} {len(body['messages'])}")


async def all_wait(server):
    """Return once all that was asked is answered and no more comes, since nobody acknowledges."""
    await until_async(lambda: server.inside == 0)
    await others_first()


def of_durable(folder, asked):
    """How often each question was asked whose turn is durable."""
    return {f"{id} {depth}?": asked[f"{id} {depth}?"] for id, depth in durable_turns(folder)}


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.long) for n in range(3, 40))]
)
async def test_a_run_whose_program_was_killed_asks_nothing_again_that_is_durable(
    tmp_path, fake, monkeypatch, seed
):
    draw = random.Random(seed)
    program = DyingProgram(monkeypatch, keeps_the_last=draw.random() < 0.5)
    server = Server(with_history)
    async with server.running() as address:
        more = {"talks": TALKS, "cluster": {}, "play": {"concurrency": 4}}
        running = asyncio.create_task(played(tmp_path, system=asking(address, keep_raw=True), **more))
        await server.until_asked(draw.randint(1, TURNS))
        program.die()
        asked_by_then = len(server.asked)
        await all_wait(server)
        assert len(server.asked) <= asked_by_then + 4, "of each conversation the question after its last turn"
        await program.actors_end(running)
        durable = of_durable(tmp_path, Counter(map(last, server.asked)))
        run = await in_time(resume_async(newest_run(tmp_path / "runs")))
    assert {(r.outcome, r.answer) for r in run.records()} == {
        ("answered", f"{name} {n}? {2 * n - 1}") for name in "abcdef" for n in (1, 2, 3)
    }
    assert len(run.records()) == TURNS
    asked = Counter(map(last, server.asked))
    assert {question: asked[question] for question in durable} == durable
    assert asked.total() <= TURNS + 4, "at most what was under way"
    replies = Counter((raw.conversation, raw.depth) for raw in run.raw_replies())
    assert all(replies[one.conversation, one.depth] >= 1 for one in run.records())
    assert replies.total() <= TURNS + 4


@pytest.mark.parametrize("policy", ["gold", "pred"])
async def test_a_rerun_whose_program_was_killed_asks_nothing_again_that_is_durable(
    tmp_path, fake, monkeypatch, policy
):
    server = Server(with_history)
    async with server.running() as address:
        more = {"talks": TALKS, "cluster": {}, "play": {"concurrency": 4}}
        first = await played(tmp_path, policies=[policy], system=asking(address), **more)
        server.asked.clear()
        program = DyingProgram(monkeypatch)
        running = asyncio.create_task(in_time(rerun_async(first.folder, ["depth=2-3"])))
        await server.until_asked(5)
        program.die()
        await all_wait(server)
        await program.actors_end(running)
        run = await in_time(resume_async(first.folder))
    asked = Counter(map(last, server.asked))
    assert {question.split()[1] for question in asked} == {"2?", "3?"}
    assert len(asked) == 12
    assert asked.total() <= 12 + 4, "at most what was under way"
    assert len(run.records()) == TURNS
    assert len(list(run.superseded())) == 12


async def slow(body, writer):
    await takes(0.05)
    await reply(body, writer)


@pytest.mark.long
async def test_the_run_of_a_killed_program_goes_on_on_a_real_cluster(tmp_path, on_two_nodes):
    server = Server(slow)
    async with server.running() as address:
        talks = [talk(name, 10) for name in "abcdef"]
        play = {"concurrency": 4}
        scenario(tmp_path, talks=talks, system=asking(address), play=play, cluster=on_two_nodes)
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", RUN, str(tmp_path / "keys.yaml"), str(tmp_path / "runs"))
        )
        await server.until_asked(15)
        program.send_signal(signal.SIGKILL)
        await program.wait()
        await all_wait(server)
        durable = of_durable(tmp_path, Counter(map(last, server.asked)))
        run = await in_time(resume_async(newest_run(tmp_path / "runs")))
    assert len(run.records()) == 60
    assert {r.outcome for r in run.records()} == {"answered"}
    asked = Counter(map(last, server.asked))
    assert {question: asked[question] for question in durable} == durable
    assert asked.total() <= 60 + 4, "at most what was under way"
