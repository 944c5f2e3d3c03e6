"""
Nodes of a cluster that are lost while they play, and nodes that join: without Ray.

What one node is answered stops all of them: without Ray.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from replay.core.errors import RunStoppedError
from replay.report.notes import notes
from replay.workers.cluster import actor_pool
from tests.adapters.servers import http
from tests.load.scenes import Server, reply
from tests.scenario.keys import outcomes, played
from tests.waiting import others_first, until_async
from tests.workers.inside import contents
from tests.workers.test_plays import LEANING, TALKS, WRONG, asking, last, slow, stored

FIRST = f"{0:056x}"
"""A node's id."""


@pytest.fixture(autouse=True)
def looked_often(monkeypatch):
    monkeypatch.setattr(actor_pool, "LOOKED_EVERY_S", 0.01)


async def test_nodes_give_the_records_of_one_process(tmp_path, fake):
    runs = [
        await played(
            tmp_path / name, talks=LEANING, system={"settings": WRONG}, policies=["pred", "rewrite"], **more
        )
        for name, more in (("here", {}), ("there", {"cluster": {}}))
    ]
    assert len(fake.actors) == 2
    assert contents(runs[0]) == contents(runs[1])


async def test_what_a_lost_node_had_begun_goes_on_elsewhere(tmp_path, fake):
    server = Server(slow)
    async with server.running() as address:
        system, play = asking(address), {"concurrency": 4}
        running = asyncio.create_task(played(tmp_path, talks=TALKS, system=system, play=play, cluster={}))
        await server.until_asked(6)
        fake.remove(FIRST)
        run = await running
    assert {r.outcome for r in run.records()} == {"answered"}
    asked = Counter(map(last, server.asked))
    assert len(run.records()) == len(asked) == 18
    assert asked.total() <= 18 + 2, "what two conversations were just asking"
    (remark,) = [note for note in notes(run.report(resamples=0)) if "Lost while" in note]
    assert "node host0 (10.0.0.0, 00000000) was lost: The actor died unexpectedly" in remark


async def test_a_node_that_joins_plays(tmp_path, fake):
    async def once_joined(body, writer):
        if len(server.asked) == 1:
            fake.add()
        await until_async(lambda: len(fake.actors) == 3)
        await reply(body, writer)

    server = Server(once_joined)
    async with server.running() as address:
        run = await played(tmp_path, talks=TALKS, system=asking(address), cluster={})
    assert outcomes(run) == ["answered"] * 18


async def test_where_all_nodes_are_lost_the_run_waits_for_another(tmp_path, fake):
    """The one that joins is there once both are lost, so that no other actor can have begun before it."""

    async def answer(body, writer):
        if len(server.asked) == 4:
            for number in range(2):
                fake.remove(f"{number:056x}")
            fake.add()
        else:
            await reply(body, writer)

    server = Server(answer)
    async with server.running() as address:
        run = await played(tmp_path, talks=TALKS, system=asking(address), cluster={})
    assert outcomes(run) == ["answered"] * 18
    assert fake.on(f"{2:056x}")


async def test_where_none_comes_the_run_stops_with_what_became_of_the_last(tmp_path, fake):
    async def fatal(body, writer):
        for number in range(2):
            fake.remove(f"{number:056x}")

    async with Server(fatal).running() as address:
        with pytest.raises(RunStoppedError, match=r"for 1 s \(cluster\.wait_s\); .*there is none") as told:
            await played(tmp_path, talks=TALKS, system=asking(address), cluster={"wait_s": 1})
    assert "go on with: replay resume" in str(told.value)


async def test_what_is_needed_and_what_the_nodes_have_is_said_where_none_can_play(tmp_path, fake):
    takes = {"cpus": 2, "resources": {"bot": 1}, "wait_s": 0.01}
    with pytest.raises(RunStoppedError) as told:
        await played(tmp_path, cluster=takes)
    assert "an actor takes CPU 2, bot 1, and no node has that: host0 (10.0.0.0, 00000000) has CPU 1;" in str(
        told.value
    )


async def test_an_actor_that_dies_begins_again_where_its_node_lives_but_not_for_ever(tmp_path, fake):
    """As one that needs more memory than there is."""
    from ray.exceptions import OutOfMemoryError

    fake.remove(f"{1:056x}")

    async def fatal(body, writer):
        fake.actors[-1].kill(OutOfMemoryError("2 of 2 GB used"))

    async with Server(fatal).running() as address:
        with pytest.raises(RunStoppedError, match=r"node host0 .* was lost: the node ran out of memory"):
            await played(tmp_path, talks=TALKS, system=asking(address), cluster={"wait_s": 1})
    assert len(fake.on(FIRST)) == 1 + actor_pool.RESTARTS


async def test_a_node_without_room_holds_up_nobody(tmp_path, fake, monkeypatch):
    busy = f"{1:056x}"
    fake.full.add(busy)
    run = await played(tmp_path, talks=TALKS, cluster={})
    assert outcomes(run) == ["answered"] * 18
    assert fake.on(busy)
    fake.full.add(FIRST)
    with pytest.raises(RunStoppedError, match=r"host\d .* had no room for an actor within 0\.05 s"):
        await played(tmp_path / "busy", talks=TALKS, cluster={"wait_s": 0.05})


async def refused(body, writer, status):
    writer.write(http(b"{}", status=status))
    await writer.drain()


async def test_failures_in_a_row_are_those_of_all_nodes(tmp_path, fake):
    async def down(body, writer):
        await refused(body, writer, "500 Internal Server Error")

    fake.add()
    server = Server(down)
    async with server.running() as address:
        play = {"concurrency": 3, "attempts": 1, "stop_after": 4}
        with pytest.raises(RunStoppedError, match="4 failures in a row"):
            await played(tmp_path, talks=TALKS, system=asking(address), play=play, cluster={})
    assert len(fake.actors) == 3
    assert len(server.asked) <= 4 + 2, "what the other two were just asking"


async def test_a_refused_key_stops_all_nodes_before_another_question_is_asked(tmp_path, fake):
    """The second node's question is not answered before the first one's key is refused."""
    fake.add()

    async def first_is_refused(body, writer):
        if body is server.asked[0]:
            await until_async(lambda: len(server.asked) == 3)
            await refused(body, writer, "401 Unauthorized")
        else:
            await until_async(lambda: all(actor.is_gone for actor in fake.actors))

    server = Server(first_is_refused)
    async with server.running() as address:
        play = {"concurrency": 3, "attempts": 1}
        with pytest.raises(RunStoppedError, match="refused us before it answered anything"):
            await played(tmp_path, talks=TALKS, system=asking(address), play=play, cluster={})
        await others_first()
    assert len(server.asked) == 3
    assert stored(tmp_path) == 0
