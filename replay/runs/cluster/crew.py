"""The actors that play a run, one or several on each node of a Ray cluster, as nodes come and go."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from replay.core.cancelling import in_thread
from replay.core.errors import RunStoppedError
from replay.core.logs import child_environment
from replay.play.clock_offset import ClockOffset, clock_offset
from replay.runs.cluster import actors
from replay.runs.cluster.connecting import connected
from replay.runs.cluster.wires import ActorWire, called
from replay.runs.processes.child import Child, Job
from replay.runs.processes.line import LineClosedError
from replay.scenario.cluster_section import ClusterSection
from replay.scenario.sections import Scenario

LOOKED_EVERY_S = 1.0
"""For nodes that came."""


@asynccontextmanager
async def cluster_crew(
    scenario: Scenario, module: str, job: Callable[..., Job], host: object
) -> AsyncIterator[ClusterCrew]:
    """
    Who plays *scenario* on its cluster, for as long as the block lasts: each does what ``work`` in *module*
    does with the *job* of its number, and may call the methods of *host*.

    Raises:
        InputError: the cluster can't be reached.
    """
    section = scenario.cluster
    assert section is not None
    async with connected(section):
        yield ClusterCrew(section, module, job, host, most=scenario.play.concurrency)


class ClusterCrew:
    """The actors of one run, *most* at a time."""

    def __init__(
        self, section: ClusterSection, module: str, job: Callable[..., Job], host: object, *, most: int
    ) -> None:
        self._section = section
        self._module = module
        self._job = job
        self._host = host
        self._most = most
        self._places: list[NodePlace] = []
        self._joined = asyncio.Event()

    async def members(self) -> AsyncIterator[Child]:
        while True:
            there = Counter(place.node for place in self._places if not place.is_gone)
            for node in await in_thread(self._nodes):
                for _ in range(there[node], self._section.per_node):
                    if sum(not place.is_gone for place in self._places) < self._most:
                        yield self._member(node)
            await asyncio.sleep(LOOKED_EVERY_S)

    async def joined(self, error: LineClosedError) -> None:
        self._joined.clear()
        try:
            async with asyncio.timeout(self._section.wait_s):
                await self._joined.wait()
        except TimeoutError:
            raise RunStoppedError(
                f"stopped: no node was left to play for {self._section.wait_s:g} s; {error}"
            ) from None

    def _nodes(self) -> list[str]:
        """Those that have what an actor takes."""
        needed = {"CPU": self._section.cpus, **self._section.resources}
        return [
            node["NodeID"]
            for node in actors.all_nodes()
            if node["Alive"]
            and all(node["Resources"].get(what, 0) >= amount for what, amount in needed.items())
        ]

    def _member(self, node: str) -> Child:
        number = len(self._places)
        place = NodePlace(self._section, self._module, node)
        self._places.append(place)
        self._joined.set()
        return Child(
            place,
            self._job(worker=number, workers=number + 1),
            self._host,
            gone=f"node {node[:8]} of the cluster was lost",
        )


class NodePlace:
    """An actor on a node."""

    def __init__(self, section: ClusterSection, module: str, node: str) -> None:
        self.node = node
        self.is_gone = False
        """It was lost, or has ended."""
        self._section = section
        self._module = module
        self._actor: Any = None

    async def open(self) -> ActorWire:
        self._actor = actors.new_actor(self._section, self.node)
        await self._called("begin", self._module, child_environment())
        return ActorWire(self._actor, self._lost)

    async def clock_offset(self) -> ClockOffset:
        return await clock_offset(partial(self._called, "clock"))

    async def _called(self, method: str, *arguments: Any) -> Any:
        """
        Raises:
            LineClosedError: the actor is gone.
        """
        import ray

        try:
            return await called(getattr(self._actor, method), *arguments)
        except ray.exceptions.RayError as error:
            raise LineClosedError(f"node {self.node[:8]} of the cluster was lost: {error}") from error

    def _lost(self, error: Exception) -> None:
        self.is_gone = True

    async def close(self) -> None:
        import ray

        self.is_gone = True
        if self._actor is not None:
            with suppress(ray.exceptions.RayError):
                await in_thread(actors.end_actor, self._actor)
