"""The actors that play a run, one or several on each node of a Ray cluster, as nodes come and go."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from replay.core.errors import RunStoppedError
from replay.core.logs import LOGGER, log_event
from replay.core.uncancellable import in_thread
from replay.play.clock_offset import ClockOffset, clock_offset
from replay.play.first_failure import gather_or_cancel
from replay.scenario.assembly import Assembly
from replay.scenario.cluster_section import ClusterSection
from replay.store.undelivered import UndeliveredPart
from replay.workers.cluster import actors
from replay.workers.cluster.cluster_node import ClusterNode, listed, needed_to_play, nodes_there
from replay.workers.cluster.connecting import connected
from replay.workers.cluster.failure_reasons import failure_reason
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.job_files import Variables, files_of, variables_of
from replay.workers.cluster.left_journals import drop_parts, left_parts
from replay.workers.cluster.node_versions import NodeVersions
from replay.workers.cluster.rpc import PeerGoneError
from replay.workers.cluster.transport import ActorTransport, called
from replay.workers.cluster.worker_handle import WorkerHandle

LOOKED_EVERY_S = 1.0
"""For nodes that came."""
RESTARTS = 3
"""So many actors at most begin on a node in the place of those that were lost there."""
ENDING_S = 2.0
"""So long an actor that is to end may take to clean up."""

NodeFiles = tuple[Any, Variables]
"""What goes to each node: Ray's reference to the files, and the variables."""


@asynccontextmanager
async def open_actor_pool(
    assembly: Assembly, module: str, job: Callable[..., NodeJob], host: object, *, most: int
) -> AsyncIterator[ActorPool]:
    """
    Who plays *assembly*'s scenario on its cluster, for as long as the block lasts, *most* at a time: each
    does what ``work`` in *module* does with the *job* of its number, and may call the methods of *host*.

    Raises:
        InputError: the cluster can't be reached, or what the nodes need can't be sent.
    """
    scenario = assembly.file.scenario
    section = scenario.cluster
    assert section is not None
    files, variables = await in_thread(files_of, assembly.file), variables_of(assembly)
    async with connected(section):
        node_files = await in_thread(actors.for_all_nodes, files), variables
        pool = ActorPool(section, module, node_files, NodeVersions(scenario), job, host, most=most)
        try:
            yield pool
        finally:
            await pool.close()


class ActorPool:
    """The actors of one run, *most* at a time."""

    def __init__(
        self,
        section: ClusterSection,
        module: str,
        node_files: NodeFiles,
        versions: NodeVersions,
        job: Callable[..., NodeJob],
        host: object,
        *,
        most: int,
    ) -> None:
        self._section = section
        self._needed = needed_to_play(section)
        self._node_files = node_files
        self._versions = versions
        self._module = module
        self._job = job
        self._host = host
        self._most = most
        self._places: list[ActorHandle] = []
        self._starting: set[asyncio.Task[WorkerHandle | None]] = set()
        self._started: asyncio.Queue[asyncio.Task[WorkerHandle | None]] = asyncio.Queue()
        self._joined = asyncio.Event()
        self._lost: Counter[str] = Counter()
        """Actors that were lost, by node."""
        self._waited_for: Counter[str] = Counter()
        """How often a node had no room for one."""
        self._why = ""
        """No one plays, as far as is known."""

    async def members(self) -> AsyncIterator[WorkerHandle]:
        loop = asyncio.get_running_loop()
        seen = loop.time()
        while True:
            self._start_on(await self._versions.same(await in_thread(self._nodes)))
            until = loop.time() + min(LOOKED_EVERY_S, self._section.wait_s)
            async for child in self._started_by(until):
                yield child
            if any(place.is_ready for place in self._places):
                seen = loop.time()
            elif loop.time() - seen >= self._section.wait_s and (self._why or not self._starting):
                raise self._no_nodes_error()

    async def all_now(self) -> list[WorkerHandle]:
        """
        One for each place that has room for it within ``cluster.wait_s``; nobody joins later.

        Raises:
            RunStoppedError: there is none.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._section.wait_s
        while True:
            self._start_on(await in_thread(self._nodes))
            started = await asyncio.gather(*self._starting)
            if children := [child for child in started if child is not None]:
                return sorted(children, key=lambda child: child.job.worker)
            if loop.time() >= deadline:
                raise self._no_nodes_error()
            await asyncio.sleep(min(LOOKED_EVERY_S, self._section.wait_s))

    async def shared(self, messages: list[bytes]) -> Any:
        """*messages* in Ray's object store: nodes fetch them from one another."""
        return await in_thread(actors.for_all_nodes, messages)

    async def joined(self, error: PeerGoneError) -> None:
        """As the protocol has it; where none joins in time it is ``members`` that raises."""
        self._joined.clear()
        await self._joined.wait()

    def _no_nodes_error(self) -> RunStoppedError:
        waited = f"{self._section.wait_s:g} s (cluster.wait_s)"
        return RunStoppedError(f"stopped: no node was left to play for {waited}; {self._why}")

    async def close(self) -> None:
        """Start no more, and end those that nobody took."""
        for task in self._starting:
            task.cancel()
        if self._starting:
            await asyncio.wait(self._starting)
        await gather_or_cancel(place.close() for place in self._places if not place.is_gone)

    def _nodes(self) -> list[ClusterNode]:
        """Those that have what an actor takes, all in all."""
        nodes = nodes_there()
        found = [node for node in nodes if node.room_for(self._needed) >= 1]
        if not found:
            there = "; ".join(f"{node.name} has {node.has}" for node in nodes)
            self._why = (
                f"an actor takes {listed(self._needed)}, and no node has that: {there or 'there is none'}"
            )
        return sorted(found, key=lambda node: self._waited_for[node.id])

    def _start_on(self, nodes: Iterable[ClusterNode]) -> None:
        there = Counter(place.node.id for place in self._places if not place.is_gone)
        for node in nodes:
            if self._lost[node.id] > RESTARTS:
                continue
            for _ in range(there[node.id], int(min(node.room_for(self._needed), self._section.per_node))):
                if sum(not place.is_gone for place in self._places) < self._most:
                    number = len(self._places)
                    job = self._job(worker=number, workers=number + 1)
                    name = actors.name_of(job)
                    place = ActorHandle(
                        self._section, self._module, self._node_files, node, self._note_loss, name=name
                    )
                    self._places.append(place)
                    task = asyncio.create_task(self._member(place, job))
                    self._starting.add(task)
                    task.add_done_callback(self._starting.discard)
                    task.add_done_callback(self._started.put_nowait)

    async def _started_by(self, until: float) -> AsyncIterator[WorkerHandle]:
        while True:
            try:
                async with asyncio.timeout_at(until):
                    task = await self._started.get()
            except TimeoutError:
                return
            if (child := task.result()) is not None:
                self._joined.set()
                yield child

    async def _member(self, place: ActorHandle, job: NodeJob) -> WorkerHandle | None:
        """The one at *place*, once it is there; None where it does not come."""
        try:
            async with asyncio.timeout(self._section.wait_s):
                await place.start()
        except (TimeoutError, PeerGoneError) as error:
            if isinstance(error, TimeoutError):
                self._note_busy(place.node)
            await place.close()
            return None
        except BaseException:
            await place.close()
            raise
        return WorkerHandle(place, job, self._host, gone=f"{place.name} was lost")

    def _note_loss(self, node: ClusterNode, why: str) -> None:
        self._lost[node.id] += 1
        self._why = why
        leaves = self._lost[node.id] > RESTARTS
        then = "it is left out from now on" if leaves else "another begins there if the node lives"
        log_event(logging.WARNING, "actor lost", node=node.name, reason=why, then=then)

    def _note_busy(self, node: ClusterNode) -> None:
        self._waited_for[node.id] += 1
        takes = listed(self._needed)
        waited = f"{self._section.wait_s:g} s (cluster.wait_s)"
        self._why = f"{node.name} had no room for an actor within {waited}; it takes {takes}"
        if self._waited_for[node.id] == 1:
            log_event(logging.WARNING, "node without room", node=node.name, takes=takes, waited=waited)

    async def left(self, run: str) -> AsyncIterator[UndeliveredPart]:
        """What nodes still have of the *run* of that id, part after part, after its actors have ended."""
        await in_thread(actors.end_actors, run)
        for node in await in_thread(self._nodes):
            for part in await actors.on_node(node.id, left_parts, self._section.folder, run) or []:
                yield part

    @property
    def has_lost(self) -> bool:
        """Whether an actor was lost."""
        return bool(self._lost)

    async def drop_left(self, run: str) -> None:
        """Delete that."""
        for node in await in_thread(self._nodes):
            await actors.on_node(node.id, drop_parts, self._section.folder, run)


class ActorHandle:
    """An actor on a node."""

    def __init__(
        self,
        section: ClusterSection,
        module: str,
        node_files: NodeFiles,
        node: ClusterNode,
        lost: Callable[[ClusterNode, str], None],
        *,
        name: str | None,
    ) -> None:
        """It is found by *name*; *lost* is told of the node where it is lost, and why in a sentence."""
        self.node = node
        self.name: str = f"node {node.name}"
        self.is_ready: bool = False
        """It can play, or does."""
        self.is_gone: bool = False
        """It was lost, or has ended."""
        self._section = section
        self._module = module
        self._node_files = node_files
        self._name = name
        self._told_lost = lost
        self._actor: Any = None

    async def start(self) -> None:
        """
        Return when there is an actor, which may take until the node has room for it.

        Raises:
            PeerGoneError: it was lost.
        """
        self._actor = actors.new_actor(self._section, self.node.id, self._name)
        level = LOGGER.getEffectiveLevel()
        await self._called("begin", self._module, self.node.id[:8], level, *self._node_files)
        self.is_ready = True

    async def open(self) -> ActorTransport:
        return ActorTransport(self._actor, self._lost)

    async def clock_offset(self) -> ClockOffset:
        return await clock_offset(partial(self._called, "clock"))

    async def _called(self, method: str, *arguments: Any) -> Any:
        """
        Raises:
            PeerGoneError: the actor is gone.
        """
        import ray

        try:
            return await called(getattr(self._actor, method), *arguments)
        except ray.exceptions.RayError as error:
            raise PeerGoneError(self._lost(error)) from error

    def _lost(self, error: Exception) -> str:
        """Note that the actor is gone; why, in a sentence."""
        why = f"{self.name} was lost: {failure_reason(error)}"
        if not self.is_gone:
            self.is_ready, self.is_gone = False, True
            self._told_lost(self.node, why)
        return why

    async def close(self) -> None:
        import ray

        was_ready, self.is_ready, self.is_gone = self.is_ready, False, True
        if self._actor is not None:
            if was_ready:
                with suppress(PeerGoneError, TimeoutError):
                    async with asyncio.timeout(ENDING_S):
                        await self._called("clear")
            with suppress(ray.exceptions.RayError):
                await in_thread(actors.end_actor, self._actor)
