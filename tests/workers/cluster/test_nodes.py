"""Nodes of a real cluster: their records, limit and losses, seen from the server that they ask."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from replay.core.uncancellable import in_thread
from replay.report.notes import notes
from tests.cli.command import replay_process
from tests.load.scenes import Server, reply, talk
from tests.scenario.keys import outcomes, played, scenario
from tests.waiting import takes
from tests.workers.cluster.conftest import PLAYER
from tests.workers.cluster.stretches import most_within
from tests.workers.inside import contents
from tests.workers.test_plays import BUG, LEANING, WRONG, asking, last


@pytest.fixture
def third(cluster):
    """Another node, for this test alone."""
    node = cluster.add_node(num_cpus=1, resources=PLAYER, object_store_memory=80_000_000)
    yield node
    if node in cluster.worker_nodes:
        cluster.remove_node(node)


@pytest.mark.long
async def test_three_nodes_hold_one_limit_and_lose_nothing_with_one_of_them(
    tmp_path, cluster, third, on_two_nodes
):
    came_s = []

    async def slow(body, writer):
        came_s.append(asyncio.get_running_loop().time())
        await takes(0.02)
        await reply(body, writer)

    server = Server(slow)
    async with server.running() as address:
        running = asyncio.create_task(
            played(
                tmp_path,
                talks=[talk(f"t{n}", 4) for n in range(20)],
                system=asking(address, limit={"asks": 20, "per_s": 1}),
                play={"concurrency": 6},
                cluster=on_two_nodes,
            )
        )
        await server.until_asked(35)
        await in_thread(cluster.remove_node, third, allow_graceful=False)
        run = await running
    assert outcomes(run) == ["answered"] * 80
    asked = Counter(map(last, server.asked))
    assert len(asked) == 80
    assert asked.total() <= 80 + 2, "at most what the lost node was just asking"
    sent_s = sorted(record.timing.sent_s for record in run.records())
    assert most_within(sent_s) <= 20
    assert most_within(came_s, 0.9) <= 20, "an ask may be later than the next ones in coming"
    (remark,) = [note for note in notes(run.report(resamples=0)) if "Lost while" in note]
    assert f"({third.node_ip_address}, {third.node_id[:8]}) was lost: " in remark


@pytest.mark.long
async def test_the_nodes_of_a_cluster_give_the_records_of_one_process(tmp_path, on_two_nodes):
    asked = {"talks": LEANING, "system": {"settings": WRONG}, "policies": ["pred", "rewrite"]}
    here = await played(tmp_path / "here", **asked)
    there = await played(tmp_path / "there", **asked, cluster=on_two_nodes)
    assert contents(here) == contents(there)
    assert len(contents(there)) == 24
    assert {r.drift.valid for r in there.records() if r.drift} == {True, False}, "drift matters here"


@pytest.mark.long
async def test_a_run_that_a_bug_ends_says_so_and_nothing_of_ray_s(tmp_path, on_two_nodes):
    (tmp_path / "bot.py").write_text(BUG)
    talks = [talk(name, 3) for name in "abcdef"]
    file = scenario(tmp_path, talks=talks, system={"adapter": "bot.py:Bot"}, cluster=on_two_nodes)
    done = await in_thread(replay_process, "run", file.source, cwd=tmp_path)
    assert done.returncode != 0
    assert 'system "s" fails at turn 2 of conversation "c": ZeroDivisionError' in done.stderr
    assert not [word for word in ("Traceback", "ray.", "never retrieved") if word in done.stderr]
