"""What an actor on a node of the cluster is: it plays as a process of one machine does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from time import perf_counter

from replay.core.logs import Told, forwarding_logs
from replay.core.uncancellable import cancel_and_wait
from replay.play.first_failure import first_failure
from replay.workers.cluster.coordinator_client import CoordinatorClient
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.job_files import Files, Variables, unpacked_job_files
from replay.workers.cluster.rpc import RpcConnection
from replay.workers.cluster.transport import NodeTransport

Arranged = Callable[[NodeJob, RpcConnection], AbstractContextManager[NodeJob]]
"""Around the work: the job as it is to be done here."""


class Node:
    """One such actor; its methods are called by the program that plays the run."""

    def __init__(self) -> None:
        self._wire = NodeTransport()
        self._playing: asyncio.Task[None] | None = None

    async def begin(self, module: str, name: str, log_level: int, files: Files, variables: Variables) -> None:
        """
        Do what ``work`` in *module* does, with *files* and *variables*.

        *name* is what the node is called in the log that the program keeps, from *log_level* on.
        """

        @contextmanager
        def arranged(job: NodeJob, rpc: RpcConnection) -> Iterator[NodeJob]:
            loop = asyncio.get_running_loop()

            def send(told: Told) -> None:
                loop.call_soon_threadsafe(rpc.notify, "log", told, name)

            with forwarding_logs(log_level, send), unpacked_job_files(files, variables) as folder:
                yield replace(job, folder=str(folder))

        self._playing = asyncio.create_task(serve_coordinator(module, self._wire, arranged))

    async def clear(self) -> None:
        """Return when nothing of what it did is left here."""
        if self._playing is not None:
            await cancel_and_wait(self._playing)

    async def clock(self) -> float:
        """A reading of ``perf_counter`` here."""
        return perf_counter()

    async def take(self, number: int, messages: list[bytes]) -> None:
        """As ``NodeTransport.take``."""
        self._wire.take(number, messages)

    async def give(self) -> list[bytes] | None:
        """As ``NodeTransport.give``."""
        return await self._wire.give()


async def serve_coordinator(
    module: str, wire: NodeTransport, arranged: Arranged = lambda job, rpc: nullcontext(job)
) -> None:
    """Do what the parent at the other end of *wire* wants, by ``work`` in *module*."""
    rpc = RpcConnection(wire, gone="the program that started this one is gone")
    with closing(rpc):
        number, job = await rpc.first_call()
        if job is None:
            return
        parent = CoordinatorClient(rpc, number)
        try:
            with first_failure(), arranged(job, rpc) as here:
                await import_module(module).work(here, parent)
        except Exception as error:  # noqa: BLE001 - the parent gets it
            rpc.refuse(parent.awaited, error)
        else:
            rpc.answer(parent.awaited, parent.result)
        await rpc.finish()
