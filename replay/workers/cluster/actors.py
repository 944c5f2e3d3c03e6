"""What the program that plays a run has Ray do: say which nodes there are, start actors on them, end them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from replay.core.errors import RunError
from replay.core.logs import log_event
from replay.scenario.cluster_section import ClusterSection
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.node import Node

T = TypeVar("T")

_NAMESPACE = "convreplay"
"""Ray's, of the names of our actors."""


def all_nodes() -> list[Mapping[str, Any]]:
    """Those that the cluster has or had, as ``ray.nodes`` describes them."""
    import ray

    found: list[Mapping[str, Any]] = ray.nodes()
    return found


def name_of(job: NodeJob) -> str | None:
    """By which a later session finds who does *job*; None where it would look for nobody."""
    return None if job.part is None else f"{job.run}/{job.part.id}"


def new_actor(section: ClusterSection, node: str, name: str | None) -> Any:
    """One of that *name* on the *node* of that id, as soon as that has room for it."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    actor = ray.remote(Node).options(
        name=name,
        namespace=_NAMESPACE,
        num_cpus=section.cpus,
        resources=section.resources,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        max_restarts=0,
        max_task_retries=0,
        max_concurrency=1000,
        # Nobody looks at them, and the head would keep each call of a long run in memory.
        enable_task_events=False,
    )
    return actor.remote()


def _installed_from_anywhere() -> Callable[[Sequence[str]], dict[str, str | None]]:
    """The function ``installed``: within another one, it goes to a node as it is, and not by its name."""

    def installed(distributions: Sequence[str]) -> dict[str, str | None]:
        """Versions by name, Python's first; None for what is not installed."""
        import sys
        from importlib.metadata import PackageNotFoundError, version

        found: dict[str, str | None] = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
        for name in distributions:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = None
        return found

    return installed


installed: Callable[[Sequence[str]], dict[str, str | None]] = _installed_from_anywhere()


async def installed_on(node: str, distributions: Sequence[str]) -> Mapping[str, str | None]:
    """
    What is ``installed`` on the *node* of that id, which needs to have nothing of ours to say so.

    Raises:
        RayError: it is lost.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    asked = ray.remote(installed).options(
        num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
    )
    found: Mapping[str, str | None] = await asyncio.wrap_future(asked.remote(distributions).future())
    return found


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


def end_actors(run: str) -> None:
    """
    End those that still play the *run* of that id.

    Ray does so once it knows that their program is gone: half a minute later, where that was outside of the
    cluster.
    """
    import ray

    for one in ray.util.list_named_actors(all_namespaces=True):
        if one["namespace"] == _NAMESPACE and one["name"].startswith(f"{run}/"):
            with suppress(ValueError):  # it has just ended
                end_actor(ray.get_actor(one["name"], namespace=_NAMESPACE))


async def on_node(node: str, do: Callable[..., T], *arguments: Any) -> T | None:
    """
    What *do* gives, called once on *node*; None where the node was lost before.

    Raises:
        RunError: that failed there.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task: Any = ray.remote(do).options(
        num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
    )
    try:
        found: T = await asyncio.wrap_future(task.remote(*arguments).future())
    except ray.exceptions.RayTaskError as error:
        raise RunError(f"node {node[:8]} of the cluster: {error.cause}") from error
    except ray.exceptions.RayError as error:
        log_event(logging.WARNING, "node lost before its turns were taken", node=node, reason=str(error))
        return None
    return found
