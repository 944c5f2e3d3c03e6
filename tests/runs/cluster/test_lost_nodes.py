"""Nodes of a cluster that are lost while they play, and nodes that join: real wires, without Ray."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.runs.processes.inside import contents
from tests.runs.processes.test_plays import LEANING, TALKS, WRONG, asking, last, slow
from tests.runs.stress.scenes import Server
from tests.scenario.keys import played


async def test_joined_nodes_give_the_records_of_one_process(tmp_path, joined):
    runs = [
        await played(
            tmp_path / name, talks=LEANING, system={"settings": WRONG}, policies=["pred", "rewrite"], **more
        )
        for name, more in (("here", {}), ("there", {"cluster": {}}))
    ]
    assert len(joined.actors) == 2
    assert contents(runs[0]) == contents(runs[1])


async def test_what_a_lost_node_had_begun_goes_on_elsewhere(tmp_path, joined):
    server = Server(slow)
    async with server.running() as address:
        system, play = asking(address), {"concurrency": 4}
        running = asyncio.create_task(played(tmp_path, talks=TALKS, system=system, play=play, cluster={}))
        await server.until_asked(6)
        joined.remove("0" * 56)
        run = await running
    assert {r.outcome for r in run.records()} == {"answered"}
    asked = Counter(map(last, server.asked))
    assert len(run.records()) == len(asked) == 18
    assert asked.total() <= 18 + 2, "at most what two conversations were just asking"
