"""Whether nodes have installed what this program has, so that they play alike; looked up beforehand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.core.errors import InputError
from replay.core.logs import log_event
from replay.core.settings.plugins import KINDS, available
from replay.scenario.sections import Scenario
from replay.workers.cluster import actors
from replay.workers.cluster.cluster_node import ClusterNode

LOOKED_UP_S = 60.0
"""So long a node may take to say, which it does in a process that has to be started."""


class NodeVersions:
    """What the nodes of a cluster have, of what it takes to play one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._distributions = distributions(scenario)
        self._needed = actors.installed(self._distributions)
        self._same: set[str] = set()
        self._others: set[str] = set()
        self._is_first = True

    async def same(self, nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
        """
        Those of *nodes* that have the versions which this program has.

        One that has others is refused before anything is played, and left out with a warning where it joins
        later.

        Raises:
            InputError: some have others.
        """
        new = [node for node in nodes if node.id not in self._same | self._others]
        found = await asyncio.gather(*(self._look_up(node) for node in new))
        others = [why for why in found if why]
        if others and self._is_first:
            raise InputError(f"cluster: {'; '.join(others)}; install the same there, or leave such nodes out")
        for why in others:
            log_event(logging.WARNING, "node left out", reason=why)
        self._is_first = self._is_first and not new
        return [node for node in nodes if node.id in self._same]

    async def _look_up(self, node: ClusterNode) -> str:
        """What *node* has otherwise; empty where that is nothing, or not known now."""
        import ray

        try:
            async with asyncio.timeout(LOOKED_UP_S):
                there = await actors.installed_on(node.id, self._distributions)
        except (TimeoutError, ray.exceptions.RayError):  # lost, perhaps: it is looked up again if it is there
            return ""
        differing = [name for name, version in self._needed.items() if there[name] != version]
        (self._others if differing else self._same).add(node.id)
        if not differing:
            return ""
        has, needed = (", ".join(_text(name, of[name]) for name in differing) for of in (there, self._needed))
        return f"node {node.name} has {has}, and this program {needed}"


def _text(name: str, version: str | None) -> str:
    return f"no {name}" if version is None else f"{name} {version}"


def distributions(scenario: Scenario) -> list[str]:
    """What has to be installed to play *scenario*: this program, Ray, and the packages of its plug-ins."""
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
