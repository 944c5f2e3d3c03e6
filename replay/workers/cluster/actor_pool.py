"""The actors that play a run, one or several on each node of a Ray cluster, as nodes come and go."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from replay.core.errors import RunStoppedError
from replay.core.logs import log_event
from replay.core.uncancellable import in_thread
from replay.play.first_failure import first_failure, gather_or_cancel
from replay.scenario.assembly import Assembly
from replay.scenario.optional_sections import ClusterSection
from replay.workers.cluster.actor_handle import ActorHandle, ActorLostError
from replay.workers.cluster.connecting import connected
from replay.workers.cluster.job_files import files_of, variables_of
from replay.workers.cluster.nodes import ClusterNode, NodeVersions, list_amounts, needed_to_play, nodes_there

LOOKED_EVERY_S = 1.0
"""For nodes that came."""
RESTARTS = 3
"""So many actors at most begin on a node in place of those that were lost there."""


@asynccontextmanager
async def open_actor_pool(assembly: Assembly, *, most: int, plays: int) -> AsyncIterator[ActorPool]:
    """
    Have actors start on the cluster of *assembly*'s scenario, for as long as the block lasts.

    Args:
        assembly: What is played.
        most: So many actors at most are there at a time.
        plays: So many plays at most are under way on each.

    Raises:
        InputError: the cluster can't be reached, or what the nodes need can't be sent.
        RunStoppedError: no node is left.
    """
    scenario = assembly.file.scenario
    assert scenario.cluster is not None
    files, variables = await in_thread(files_of, assembly.file), variables_of(assembly)
    async with connected(scenario.cluster):
        import ray  # which changes the whole process

        references = await in_thread(ray.put, files), variables
        pool = ActorPool(scenario.cluster, NodeVersions(scenario), references, most=most, plays=plays)
        try:
            with first_failure():
                async with asyncio.TaskGroup() as tasks:
                    looking = tasks.create_task(pool.keep_looking(tasks))
                    try:
                        yield pool
                    finally:
                        for task in (looking, *pool.starting):
                            task.cancel()
        finally:
            await gather_or_cancel(actor.close() for actor in pool.actors)


class ActorPool:
    """The actors of one run."""

    def __init__(
        self, section: ClusterSection, versions: NodeVersions, files: Any, *, most: int, plays: int
    ) -> None:
        """
        Create an empty pool, as for ``open_actor_pool``.

        *files* are Ray references to what is sent to each node.
        """
        self.files = files
        self.actors: list[ActorHandle] = []
        """All that were there and are not known to be gone."""
        self.starting: set[asyncio.Task[None]] = set()
        self._section = section
        self._needed = needed_to_play(section)
        self._versions = versions
        self._most = most
        self._plays = plays
        self._number = 0
        self._ready: asyncio.Queue[ActorHandle] = asyncio.Queue()
        self._is_complete = asyncio.Event()
        self._lost: Counter[str] = Counter()
        """Actors that were lost, by node."""
        self._waited_for: Counter[str] = Counter()
        """How often a node had no room for one."""
        self._why = ""
        """No one plays, as far as is known."""

    async def next(self) -> ActorHandle:
        """Return the next actor that can play, once there is one."""
        return await self._ready.get()

    async def all_now(self) -> list[ActorHandle]:
        """Return one for each place that has room for it within ``cluster.wait_s``; nobody joins later."""
        actors = [await self.next()]
        self._is_complete.set()
        if self.starting:
            await asyncio.wait(self.starting)
        while not self._ready.empty():
            actors.append(self._ready.get_nowait())
        return sorted(actors, key=lambda actor: actor.number)

    async def keep_looking(self, tasks: asyncio.TaskGroup) -> None:
        """
        Start actors on the nodes that there are and those that join, in *tasks*.

        Raises:
            InputError: a node has other versions.
            RunStoppedError: no node is left.
        """
        loop, look_again_s = asyncio.get_running_loop(), min(LOOKED_EVERY_S, self._section.wait_s)
        seen = loop.time()
        while not self._is_complete.is_set():
            for node in self._places(await self._versions.same(await in_thread(self._nodes))):
                actor = ActorHandle(self._section, node, self._number, self._note_loss, most=self._plays)
                self._number += 1
                self.actors.append(actor)
                task = tasks.create_task(self._start(actor))
                self.starting.add(task)
                task.add_done_callback(self.starting.discard)
            await asyncio.sleep(look_again_s)
            if any(actor.is_ready for actor in self.actors):
                seen = loop.time()
            elif loop.time() - seen >= self._section.wait_s and (self._why or not self.starting):
                waited = f"{self._section.wait_s:g} s (cluster.wait_s)"
                raise RunStoppedError(f"stopped: no node was left to play for {waited}; {self._why}")

    def _nodes(self) -> list[ClusterNode]:
        """Return those that have what an actor takes, all in all."""
        nodes = nodes_there()
        fit = [node for node in nodes if node.room_for(self._needed) >= 1]
        if not fit:
            there = "; ".join(f"{node.name} has {node.has}" for node in nodes)
            needed = list_amounts(self._needed)
            self._why = f"an actor takes {needed}, and no node has that: {there or 'there is none'}"
        return sorted(fit, key=lambda node: self._waited_for[node.id])

    def _places(self, nodes: Iterable[ClusterNode]) -> list[ClusterNode]:
        """Return the node of each actor that may be started now."""
        self.actors = [actor for actor in self.actors if not actor.is_gone]
        there = Counter(actor.node.id for actor in self.actors)
        places = [
            node
            for node in nodes
            if self._lost[node.id] <= RESTARTS
            for _ in range(there[node.id], int(min(node.room_for(self._needed), self._section.per_node)))
        ]
        return places[: max(0, self._most - len(self.actors))]

    async def _start(self, actor: ActorHandle) -> None:
        try:
            async with asyncio.timeout(self._section.wait_s):
                await actor.start()
        except TimeoutError:
            self._note_busy(actor.node)
        except ActorLostError:
            pass
        finally:
            if not actor.is_ready:
                await actor.close()
        if actor.is_ready:
            self._ready.put_nowait(actor)

    def _note_loss(self, actor: ActorHandle, why: str) -> None:
        node = actor.node
        self._lost[node.id] += 1
        self._why = why
        leaves = self._lost[node.id] > RESTARTS
        then = "it is left out from now on" if leaves else "another begins there if the node lives"
        log_event(logging.WARNING, "actor lost", node=node.name, reason=why, then=then)

    def _note_busy(self, node: ClusterNode) -> None:
        self._waited_for[node.id] += 1
        takes = list_amounts(self._needed)
        waited = f"{self._section.wait_s:g} s (cluster.wait_s)"
        self._why = f"{node.name} had no room for an actor within {waited}; it takes {takes}"
        if self._waited_for[node.id] == 1:
            log_event(logging.WARNING, "node without room", node=node.name, takes=takes, waited=waited)
