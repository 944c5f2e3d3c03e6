"""The nodes of a cluster: what they have, and whether that is what this program has."""

from __future__ import annotations

import logging
from math import inf

import pytest

from replay.core.errors import InputError
from replay.workers.cluster import actor_pool
from replay.workers.cluster.nodes import ClusterNode, distributions, installed_versions
from tests.load.scenes import Server, reply
from tests.scenario.keys import outcomes, played, python, scenario
from tests.waiting import until_async
from tests.workers.test_plays import TALKS, asking


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"convreplay": "0.0.9"}, r"has convreplay 0\.0\.9, and this program convreplay \d"),
        ({"convreplay": None}, r"has no convreplay, and this program convreplay \d"),
        (
            {"Python": "3.9", "ray": "2.50.0"},
            r"has Python 3\.9, ray 2\.50\.0, and this program Python 3\.1\d, ray 2",
        ),
    ],
)
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
