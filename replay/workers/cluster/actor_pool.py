"""
The actors of Ray's that play a run, one or several on each node of the cluster, as nodes come and go:
started, called, lost or ended, seen from the program that plays.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from replay.core.errors import ReplayError, RunStoppedError
from replay.core.lifetimes import in_thread
from replay.core.load_record import ClockOffset
from replay.core.logs import LOGGER, log_event
from replay.play.event_loop import first_failure, gather_or_cancel
from replay.scenario.assembly import Assembly
from replay.scenario.sections import ClusterSection
from replay.workers.cluster.actor import ClusterActor, clock_offset
from replay.workers.cluster.job_files import files_of, variables_of
from replay.workers.cluster.ray_cluster import (
    ClusterNode,
    NodeVersions,
    cluster_connection,
    list_amounts,
    needed_to_play,
    nodes_there,
    on_node,
)
from replay.workers.job import WorkerJob

STOPPING_S = 10.0
"""How long an actor may take to say what it has at its end."""
CALLS_BESIDE_PLAYS = 100
"""So many calls at most are under way beside those that play."""


class ActorLostError(ReplayError):
    """An actor is gone, or can't be reached."""


class ActorHandle:
    """One actor; ``close`` it whatever came of it."""

    def __init__(
        self,
        section: ClusterSection,
        node: ClusterNode,
        number: int,
        lost: Callable[[ActorHandle, str], None],
        *,
        most: int,
    ) -> None:
        """Describe that of *number* on *node*, of *most* plays at a time; *lost* is told why it was lost."""
        self.node = node
        self.number = number
        self.name: str = f"node {node.name}"
        self.clock: ClockOffset = ClockOffset(offset_s=0.0, uncertainty_s=0.0)
        """Of its machine's clock to ours, as it was measured last."""
        self.is_ready: bool = False
        """It can play, or does."""
        self.is_gone: bool = False
        """It was lost, or has ended."""
        self.is_ending: asyncio.Event = asyncio.Event()
        self.report: Any = None
        """What its work knows at the end, if it could say so."""
        self._section = section
        self._most = most
        self._note_loss = lost
        self._actor: Any = None
        self._receiving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """
        Return when there is an actor, which may take until the node has room for it.

        Raises:
            ActorLostError: it was lost.
        """
        import ray

        actor = ray.remote(ClusterActor).options(
            num_cpus=self._section.cpus,
            resources=self._section.resources,
            scheduling_strategy=on_node(self.node.id),
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=self._most + CALLS_BESIDE_PLAYS,
            # Nobody looks at them, and the head would keep each call of a long run in memory.
            enable_task_events=False,
        )
        self._actor = actor.remote()
        self.clock = await self.clock_offset()
        self.is_ready = True

    async def clock_offset(self) -> ClockOffset:
        """Measure how far its ``perf_counter`` is ahead of ours."""
        return await clock_offset(partial(self.call, "clock"))

    async def call(self, method: str, *arguments: Any) -> Any:
        """
        Return what *method* of the actor gives.

        Raises:
            ActorLostError: it is gone.
            ReplayError: *method* raised it.
        """
        import ray

        if self.is_gone:
            raise ActorLostError(f"{self.name} was lost")
        try:
            answer = asyncio.wrap_future(getattr(self._actor, method).remote(*arguments).future())
            answer.add_done_callback(_retrieve)
            # Ray's client can't answer what was cancelled, and prints that.
            return await asyncio.shield(answer)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, Exception) and not isinstance(error.cause, ray.exceptions.RayError):
                raise error.cause from None
            raise ActorLostError(self._lose(error)) from error
        except ray.exceptions.RayError as error:
            raise ActorLostError(self._lose(error)) from error

    def _lose(self, error: Exception) -> str:
        """Note that the actor is gone; return why, in a sentence."""
        why = f"{self.name} was lost: {failure_reason(error)}"
        if not self.is_gone:
            self.is_ready, self.is_gone = False, True
            self._note_loss(self, why)
        return why

    @asynccontextmanager
    async def working(
        self,
        module: str,
        job: WorkerJob,
        files: Any,
        receive: Callable[[ActorHandle], Coroutine[Any, Any, None]],
    ) -> AsyncIterator[None]:
        """
        Have the *job* done by ``open_work`` in *module*, for as long as the block lasts.

        Args:
            module: The module's dotted name.
            job: The job, by this program's clock.
            files: References to what goes to the node with it.
            receive: Takes what the actor sends until it has ended; where it raises, the block ends.

        Raises:
            ExceptionGroup: of an ``ActorLostError``, or of what *receive* or the block raised.
        """
        job = replace(job, start=job.start + self.clock.offset_s)
        async with asyncio.TaskGroup() as tasks:
            self._receiving = tasks.create_task(receive(self))
            try:
                await self.call("begin", module, job, LOGGER.getEffectiveLevel(), *files)
                yield
            finally:
                await self.end()
                self._receiving.cancel()  # where that took too long

    async def end(self) -> None:
        """Cancel what is under way and hear the rest of what it has, unless it is gone or takes too long."""
        if self.is_ending.is_set():
            return
        self.is_ending.set()
        assert self._receiving is not None
        with suppress(TimeoutError, ReplayError):
            async with asyncio.timeout(STOPPING_S):
                self.report = await self.call("end")
                await asyncio.wait([self._receiving])

    async def close(self) -> None:
        """End the actor by force."""
        import ray

        self.is_ready, self.is_gone = False, True
        if self._actor is not None:
            with suppress(ray.exceptions.RayError):
                await in_thread(ray.kill, self._actor)


def _retrieve(answer: asyncio.Future[Any]) -> None:
    """Look at what became of a call whose caller may be gone, or the loop would print that nobody did."""
    if not answer.cancelled():
        answer.exception()


def failure_reason(error: Exception) -> str:
    """Say of *error*, which a call of an actor raised, why the actor is gone, for whoever runs it."""
    from ray import exceptions

    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, exceptions.OutOfMemoryError) or "running low on memory" in str(error):
        return (
            "the node ran out of memory, and Ray ended the actor; play fewer conversations at a time "
            "(play.concurrency), or say what an actor takes (cluster.resources: {memory: BYTES})"
        )
    if isinstance(error, exceptions.ActorUnavailableError):
        return "it does not answer"
    if isinstance(error, exceptions.ActorDiedError) and error.preempted:
        return "its cloud took it back"
    return lines[-1] if lines else type(error).__name__


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
    async with cluster_connection(scenario.cluster):
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
