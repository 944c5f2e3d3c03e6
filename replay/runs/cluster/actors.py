"""What the program that plays a run has Ray do: say which nodes there are, start actors on them, end them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.runs.cluster.node import Node
from replay.scenario.cluster_section import ClusterSection


def all_nodes() -> list[Mapping[str, Any]]:
    """Those that the cluster has or had, as ``ray.nodes`` describes them."""
    import ray

    found: list[Mapping[str, Any]] = ray.nodes()
    return found


def new_actor(section: ClusterSection, node: str) -> Any:
    """One on the *node* of that id, as soon as that has room for it."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    actor = ray.remote(Node).options(
        num_cpus=section.cpus,
        resources=section.resources,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        max_restarts=0,
        max_task_retries=0,
        max_concurrency=1000,
    )
    return actor.remote()


def for_all_nodes(value: Any) -> Any:
    """A reference to *value*, in whose place an actor that is called with it gets that."""
    import ray

    return ray.put(value)


def end_actor(actor: Any) -> None:
    """
    End *actor* by force.

    Raises:
        RayError: that can't be done now.
    """
    import ray

    ray.kill(actor)
