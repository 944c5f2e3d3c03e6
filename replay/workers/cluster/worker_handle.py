"""A process that plays a part of a run, seen from the one that started it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from replay.core.errors import ReplayError
from replay.core.uncancellable import cancel_and_wait
from replay.play.clock_offset import ClockOffset
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.rpc import END, RpcConnection, Transport

STOPPING_S = 10.0
"""How long it may take to say what it has, and then to end."""


class Launcher(Protocol):
    """Where a process runs."""

    @property
    def name(self) -> str:
        """What to call it, as in ``node HOST``; empty where it is one of several on this machine."""
        ...

    async def open(self) -> Transport:
        """Have it started; the wire to it."""
        ...

    async def clock_offset(self) -> ClockOffset | None:
        """
        How far its ``perf_counter`` is ahead of ours; None where it is the same, as on this machine.

        Raises:
            PeerGoneError: it is gone.
        """
        ...

    async def close(self) -> None:
        """End it, if need be by force."""
        ...


class WorkerHandle:
    """One such process; ``start`` it, and ``close`` it whatever came of that."""

    def __init__(self, place: Launcher, job: NodeJob, host: object, *, gone: str) -> None:
        """
        The process at *place* does its *job*, and may call the methods of *host*; *gone* is said where it has
        ended before it should.
        """
        self.job = job
        self._place = place
        self._host = host
        self._gone = gone
        self._rpc: RpcConnection | None = None
        self.clock: ClockOffset | None = None
        """Of its clock to ours, as its job has it; None where they are one."""
        self._listening: asyncio.Task[Any] | None = None

    @property
    def name(self) -> str:
        """What to call it."""
        return self._place.name or f"process {self.job.worker + 1} of {self.job.workers}"

    async def start(self) -> None:
        """
        Return when it is ready.

        Raises:
            ReplayError: it could not begin.
        """
        self._rpc = RpcConnection(await self._place.open(), gone=self._gone)
        self._listening = asyncio.create_task(self._rpc.serve(self._host))
        self.clock = await self._place.clock_offset()
        start = self.job.start + (self.clock.offset_s if self.clock else 0.0)
        await self.call("begin", replace(self.job, start=start))

    async def call(self, method: str, *arguments: Any) -> Any:
        """
        What *method* of the process, which is started, gives.

        Raises:
            PeerGoneError, ReplayError: as for ``RpcConnection.call``.
        """
        assert self._rpc is not None
        return await self._rpc.call(method, *arguments)

    def pass_on(self, messages: Any) -> None:
        """Send it *messages* that ``packed`` made, or what stands for them on its wire."""
        assert self._rpc is not None
        self._rpc.pass_on(messages)

    async def clock_offset(self) -> ClockOffset | None:
        """As ``Launcher.clock_offset``."""
        return await self._place.clock_offset()

    async def end(self) -> Any:
        """
        What it has at its end, after it has sent all the rest; None where it is gone or takes too long.
        """
        if self._listening is None:
            return None
        with suppress(TimeoutError, ReplayError):
            async with asyncio.timeout(STOPPING_S):
                return await self.call(END)
        return None

    async def close(self) -> None:
        """End the process."""
        if self._rpc is not None:
            self._rpc.close()
        await self._place.close()
        if self._listening is not None:
            await cancel_and_wait(self._listening)
