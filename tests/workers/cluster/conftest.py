"""A Ray cluster on this machine, for all tests of a process: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.workers.cluster.fake_ray import FakeRay, put_in_place

PLAYER = {"player": 1}
"""What each of the nodes has that are there to play; others are of one test alone."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """``ray.cluster_utils.Cluster``: a head that has no CPUs, and two nodes that play, of one CPU each."""
    pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80_000_000}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    for _ in range(2):
        made.add_node(num_cpus=1, resources=PLAYER, **small)
    yield made
    made.shutdown()


@pytest.fixture
def on_two_nodes(cluster) -> dict[str, Any]:
    """The section ``cluster`` of a scenario that those nodes play; a busy machine starts processes slowly."""
    return {"address": cluster.address, "resources": PLAYER, "wait_s": 300}


@pytest.fixture
def fake(monkeypatch) -> FakeRay:
    """A cluster of two nodes in this process, for runs whose ``cluster`` is ``{}``."""
    ray = put_in_place(monkeypatch)
    for _ in range(2):
        ray.add()
    return ray
