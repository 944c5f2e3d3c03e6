"""What a node of a cluster has, and for how many actors that is enough."""

from __future__ import annotations

from math import inf

from replay.workers.cluster.cluster_node import ClusterNode

NODE = {
    "NodeID": "a" * 56,
    "Alive": True,
    "NodeManagerHostname": "host",
    "NodeManagerAddress": "10.0.0.1",
    "Resources": {"CPU": 4.0, "bot": 1.0, "node:10.0.0.1": 1.0, "accelerator_type:H100": 1.0},
}


def test_what_ray_names_itself_can_be_asked_for_and_is_not_listed():
    node = ClusterNode.of(NODE)
    assert node.room_for({"CPU": 1.0, "accelerator_type:H100": 0.25}) == 4
    assert node.room_for({"CPU": 1.0, "bot": 1.0}) == 1
    assert node.room_for({"CPU": 1.0, "GPU": 1.0}) == 0
    assert node.room_for({"CPU": 0.0}) == inf
    assert node.has == "CPU 4, bot 1"


def test_one_that_is_gone_is_no_node():
    assert ClusterNode.of({**NODE, "Alive": False}) is None
