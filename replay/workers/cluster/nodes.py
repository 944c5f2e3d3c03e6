"""The nodes of a Ray cluster, machines as a rule: what they have, and which versions are installed there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Self

from replay.core.errors import InputError
from replay.core.logs import log_event
from replay.core.settings.plugins import KINDS, available
from replay.scenario.sections import ClusterSection, Scenario

LOOKED_UP_S = 60.0
"""So long a node may take to say what it has, which it does in a process that has to be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """One that is there."""

    id: str
    name: str
    """For people: its host, its address and the beginning of its id, since a host may have several."""
    resources: Mapping[str, float]
    """All that it has, whoever uses it now."""

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Self | None:
        """Return the one that ``ray.nodes`` *described*; None where it is gone."""
        if not described["Alive"]:
            return None
        id, host, address = (
            described["NodeID"],
            described["NodeManagerHostname"],
            described["NodeManagerAddress"],
        )
        return cls(id=id, name=f"{host} ({address}, {id[:8]})", resources=described["Resources"])

    def room_for(self, needed: Mapping[str, float]) -> float:
        """Return for how many actors it has what each *needed*, if nobody else uses it."""
        fits = (self.resources.get(what, 0) // amount for what, amount in needed.items() if amount)
        return min(fits, default=inf)

    @property
    def has(self) -> str:
        """Its resources, for people."""
        # Ray has resources of its own beside, named for the node's address and kinds of accelerators.
        return list_amounts({what: amount for what, amount in self.resources.items() if ":" not in what})


def nodes_there() -> list[ClusterNode]:
    """Return those that the cluster has now."""
    import ray

    return [node for node in map(ClusterNode.of, ray.nodes()) if node is not None]


def needed_to_play(section: ClusterSection) -> dict[str, float]:
    """Return how much of a node an actor that plays takes."""
    return {"CPU": section.cpus, **section.resources}


def needed_to_score(section: ClusterSection) -> dict[str, float]:
    """Return how much of it an actor takes whose scorers have a model."""
    return {"CPU": section.scoring.cpus, "GPU": section.scoring.gpus, **section.resources}


def list_amounts(amounts: Mapping[str, float]) -> str:
    """Write out *amounts* of resources by name, for people."""
    return ", ".join(f"{what} {amount:g}" for what, amount in sorted(amounts.items()) if amount) or "nothing"


def on_node(node: str) -> Any:
    """Return the strategy by which Ray puts something on the *node* of that id, and nowhere else."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


class NodeVersions:
    """What the nodes of a cluster have installed, of what it takes to play one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._distributions = distributions(scenario)
        self._needed = installed_versions(self._distributions)
        self._same: set[str] = set()
        self._others: set[str] = set()
        self._is_first = True

    async def same(self, nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
        """
        Return those of *nodes* that have the versions which this program has.

        One that has others is refused before anything is played, and left out with a warning where it joins
        later.

        Raises:
            InputError: some have others.
        """
        new = [node for node in nodes if node.id not in self._same | self._others]
        others = [why for why in await asyncio.gather(*map(self._look_up, new)) if why]
        if others and self._is_first:
            raise InputError(f"cluster: {'; '.join(others)}; install the same there, or leave such nodes out")
        for why in others:
            log_event(logging.WARNING, "node left out", reason=why)
        self._is_first = self._is_first and not new
        return [node for node in nodes if node.id in self._same]

    async def _look_up(self, node: ClusterNode) -> str:
        """Say what *node* has otherwise; empty where that is nothing, or not known now."""
        import ray

        look = ray.remote(installed_versions).options(
            num_cpus=0, max_retries=0, scheduling_strategy=on_node(node.id)
        )
        try:
            async with asyncio.timeout(LOOKED_UP_S):
                there = await asyncio.wrap_future(look.remote(self._distributions).future())
        except (TimeoutError, ray.exceptions.RayError):  # lost, perhaps: it is looked up again if it is there
            return ""
        differing = [name for name, version in self._needed.items() if there[name] != version]
        (self._others if differing else self._same).add(node.id)
        if not differing:
            return ""
        has, needed = (
            ", ".join(f"{name} {of[name]}" if of[name] else f"no {name}" for name in differing)
            for of in (there, self._needed)
        )
        return f"node {node.name} has {has}, and this program {needed}"


def _installed_from_anywhere() -> Callable[[Sequence[str]], dict[str, str | None]]:
    """Return the function: as one within another it goes to a node as it is, and not by its name."""

    def installed_versions(distributions: Sequence[str]) -> dict[str, str | None]:
        """Return versions by name, Python's first; None for what is not installed."""
        import sys
        from importlib.metadata import PackageNotFoundError, version

        versions: dict[str, str | None] = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
        for name in distributions:
            try:
                versions[name] = version(name)
            except PackageNotFoundError:
                versions[name] = None
        return versions

    return installed_versions


installed_versions: Callable[[Sequence[str]], dict[str, str | None]] = _installed_from_anywhere()


def distributions(scenario: Scenario) -> list[str]:
    """Return what has to be installed to play *scenario*: this program, Ray, the packages of its plug-ins."""
    content = scenario.model_dump(include={"systems", "policies", "drift", "data"})
    texts = set(_texts(content))
    entries = [entry for kind in KINDS for name, entry in available(kind).items() if name in texts]
    packages = {entry.dist.name for entry in entries if entry.dist is not None}
    return ["convreplay", "ray", *sorted(packages - {"convreplay", "ray"})]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
