"""
Nodes of a real cluster: their records, limit and losses, seen from the server that they ask.

The nodes of a cluster: what they have, and whether that is what this program has.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from math import inf

import pytest

from replay.core.errors import InputError
from replay.core.lifetimes import in_thread
from replay.report.notes import notes
from replay.workers.cluster import actor_pool
from replay.workers.cluster.ray_cluster import ClusterNode, distributions, installed_versions
from tests.cli.command import replay_process
from tests.data_tables import from_table
from tests.load.scenes import Server, reply, talk
from tests.scenario.keys import outcomes, played, python, scenario
from tests.waiting import takes, until_async
from tests.workers.cluster.conftest import PLAYER
from tests.workers.cluster.stretches import most_within
from tests.workers.inside import contents
from tests.workers.test_plays import BUG, LEANING, TALKS, WRONG, asking, last


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


@from_table
async def test_a_node_with_other_versions_is_refused_before_anything_is_asked(tmp_path, fake, there, said):
    node = fake.add()
    fake.installed[node] = there
    bot = python(tmp_path, "def answer(question): open(__file__ + '.asked', 'w')")
    with pytest.raises(
        InputError, match=rf"cluster: node host2 \(10\.0\.0\.2, 0{{8}}\) {said}.*; install the same"
    ):
        await played(tmp_path, system=bot, cluster={})
    assert not fake.actors


async def test_one_that_joins_later_is_left_out_with_a_warning(tmp_path, fake, caplog, monkeypatch):
    monkeypatch.setattr(actor_pool, "LOOKED_EVERY_S", 0.01)
    caplog.set_level(logging.WARNING, "replay")

    async def once_it_is_left_out(body, writer):
        if len(server.asked) == 1:
            fake.installed[fake.add()] = {"convreplay": "0.0.9"}
        await until_async(lambda: caplog.records)
        await reply(body, writer)

    server = Server(once_it_is_left_out)
    async with server.running() as address:
        run = await played(tmp_path, talks=TALKS, system=asking(address), cluster={})
    assert set(outcomes(run)) == {"answered"}
    assert len(fake.actors) == 2, "of the first two nodes"
    (record,) = (one for one in caplog.records if "node" not in one.fields)  # here nodes log as well
    assert record.getMessage() == "node left out"
    assert "convreplay 0.0.9" in record.fields["reason"]


def test_what_plug_ins_come_from_is_compared_too(tmp_path):
    assert distributions(scenario(tmp_path).scenario) == ["convreplay", "ray"]
    of = installed_versions(["convreplay", "pytest", "never-made"])
    assert list(of) == ["Python", "convreplay", "pytest", "never-made"]
    assert of["pytest"] == pytest.__version__
    assert of["never-made"] is None


def test_a_node_needs_nothing_of_ours_to_say_what_it_has():
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    assert b"_make_function" in ray.cloudpickle.dumps(installed_versions), "by what it does, not by its name"


NODE = {
    "NodeID": "a" * 56,
    "Alive": True,
    "NodeManagerHostname": "host",
    "NodeManagerAddress": "10.0.0.1",
    "Resources": {"CPU": 4.0, "bot": 1.0, "node:10.0.0.1": 1.0, "accelerator_type:H100": 1.0},
}


def test_what_ray_names_itself_can_be_asked_for_and_is_not_listed():
    node = ClusterNode.of(NODE)
    assert node is not None
    assert node.room_for({"CPU": 1.0, "accelerator_type:H100": 0.25}) == 4
    assert node.room_for({"CPU": 1.0, "bot": 1.0}) == 1
    assert node.room_for({"CPU": 1.0, "GPU": 1.0}) == 0
    assert node.room_for({"CPU": 0.0}) == inf
    assert node.has == "CPU 4, bot 1"


def test_one_that_is_gone_is_no_node():
    assert ClusterNode.of({**NODE, "Alive": False}) is None


pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')


def test_a_missing_token_is_said_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        done = replay_process("run", "quickstart", "--on", address, cwd=tmp_path)

    assert done.returncode == 2
    assert f'cluster.address: "{address}" can\'t be reached' in done.stderr
    assert "no authentication token was found" in done.stderr
    assert "RAY_AUTH_TOKEN have to be set here as well" in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout
