"""What nodes keep of what they play, and what becomes of it when the program is killed; without Ray."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from replay.results.run import newest_run
from replay.runs.launch import resume_async
from replay.runs.rerun import rerun_async
from replay.workers.cluster import journal
from tests.load.scenes import Server, reply
from tests.scenario.keys import in_time, played
from tests.waiting import others_first, takes
from tests.workers.cluster.dying import DyingProgram, durable_turns
from tests.workers.test_plays import TALKS, asking, last

TURNS = 18


@pytest.fixture
def on_nodes(tmp_path, joined):
    """What two nodes play, as ``played`` takes it."""
    return {"talks": TALKS, "cluster": {"folder": str(tmp_path / "parts")}, "play": {"concurrency": 4}}


async def with_history(body, writer):
    """An answer that says how much history it was asked with."""
    await takes(random.uniform(0, 0.003))
    await reply(body, writer, f"{last(body)} {len(body['messages'])}")


async def killed(folder, server, program, running, after, later):
    """
    The *program* dies once *after* questions were asked, and its nodes *later* questions after that.

    Returns:
        How often each question was asked whose turn is durable.
    """
    await server.until_asked(after)
    program.die()
    while len(server.asked) < after + later and not await nothing_goes_on(folder, server):
        await takes(0.005)
    await program.nodes_end(running)
    asked = Counter(map(last, server.asked))
    return {f"{id} {depth}?": asked[f"{id} {depth}?"] for id, depth in durable_turns(folder)}


async def nothing_goes_on(folder, server):
    """Whether every question that was asked has its turn, and none came after it."""
    asked = len(server.asked)
    if len(durable_turns(folder)) < asked:
        return False
    await others_first()
    return len(server.asked) == asked


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.long) for n in range(3, 40))]
)
async def test_a_run_whose_program_was_killed_asks_nothing_again_that_a_node_has(
    tmp_path, on_nodes, monkeypatch, seed
):
    draw = random.Random(seed)
    monkeypatch.setattr(journal, "MARKED_EVERY", draw.choice([1, 5, 200]))
    program = DyingProgram(monkeypatch, keeps_the_last=draw.random() < 0.5)
    server = Server(with_history)
    async with server.running() as address:
        more = {**on_nodes, "system": asking(address, keep_raw=True)}
        running = asyncio.create_task(played(tmp_path, **more))
        moments = draw.randint(1, TURNS), draw.randint(0, 8)
        durable = await killed(tmp_path, server, program, running, *moments)
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
    assert not list(tmp_path.glob("parts/*"))


@pytest.mark.parametrize("policy", ["gold", "pred"])
async def test_a_rerun_whose_program_was_killed_asks_nothing_again_that_a_node_has(
    tmp_path, on_nodes, monkeypatch, policy
):
    server = Server(with_history)
    async with server.running() as address:
        more = {**on_nodes, "policies": [policy], "system": asking(address)}
        first = await played(tmp_path, **more)
        server.asked.clear()
        program = DyingProgram(monkeypatch)
        running = asyncio.create_task(in_time(rerun_async(first.folder, ["depth=2-3"])))
        await server.until_asked(5)
        program.die()
        await server.until_asked(7)
        await program.nodes_end(running)
        run = await in_time(resume_async(first.folder))
    asked = Counter(map(last, server.asked))
    assert {question.split()[1] for question in asked} == {"2?", "3?"}
    assert len(asked) == 12
    assert asked.total() <= 12 + 4, "at most what was under way"
    assert len(run.records()) == TURNS
    assert len(list(run.superseded())) == 12
