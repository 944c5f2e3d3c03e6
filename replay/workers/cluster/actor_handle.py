"""An actor of Ray's, seen from the program that plays the run: started, called, lost or ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from replay.core.errors import ReplayError
from replay.core.load_record import ClockOffset
from replay.core.logs import LOGGER
from replay.core.uncancellable import in_thread
from replay.play.clock_offset import clock_offset
from replay.scenario.cluster_section import ClusterSection
from replay.workers.cluster.actor import ClusterActor
from replay.workers.cluster.nodes import ClusterNode, on_node
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
