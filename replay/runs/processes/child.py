"""A process that plays a part of a run, seen from the one that started it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from replay.core.cancelling import ended
from replay.core.errors import ReplayError
from replay.play.clock_offset import ClockOffset
from replay.runs.processes.line import END, Line, Wire
from replay.runs.processes.part import PartPlace
from replay.scenario.reading import ScenarioFile

STOPPING_S = 10.0
"""How long it may take to say what it has, and then to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a process is to do."""

    text: str
    source: str
    folder: str
    """The scenario."""
    run: str
    """The run's own id."""
    start: float
    """Reading of ``perf_counter`` when the run started: where the process runs, once that is known."""
    started_at: float
    """When that was, in seconds since 1970."""
    worker: int
    """Which of them it is, from 0."""
    workers: int
    part: PartPlace | None = None
    """Where it keeps what it plays until this program has it; None where that is at once."""

    @classmethod
    def of(cls, file: ScenarioFile, *, worker: int, workers: int, **when: Any) -> Job:
        """A part of playing *file*; *when* are the other fields."""
        return cls(
            text=file.text,
            source=file.source,
            folder=str(file.folder),
            worker=worker,
            workers=workers,
            **when,
        )


class Place(Protocol):
    """Where a process runs."""

    @property
    def name(self) -> str:
        """What to call it, as in ``node HOST``; empty where it is one of several on this machine."""
        ...

    async def open(self) -> Wire:
        """Have it started; the wire to it."""
        ...

    async def clock_offset(self) -> ClockOffset | None:
        """
        How far its ``perf_counter`` is ahead of ours; None where it is the same, as on this machine.

        Raises:
            LineClosedError: it is gone.
        """
        ...

    async def close(self) -> None:
        """End it, if need be by force."""
        ...


class Child:
    """One such process; ``start`` it, and ``close`` it whatever came of that."""

    def __init__(self, place: Place, job: Job, host: object, *, gone: str) -> None:
        """
        The process at *place* does its *job*, and may call the methods of *host*; *gone* is said where it has
        ended before it should.
        """
        self.job = job
        self._place = place
        self._host = host
        self._gone = gone
        self._line: Line | None = None
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
        self._line = Line(await self._place.open(), gone=self._gone)
        self._listening = asyncio.create_task(self._line.serve(self._host))
        self.clock = await self._place.clock_offset()
        start = self.job.start + (self.clock.offset_s if self.clock else 0.0)
        await self.call("begin", replace(self.job, start=start))

    async def call(self, method: str, *arguments: Any) -> Any:
        """
        What *method* of the process, which is started, gives.

        Raises:
            LineClosedError, ReplayError: as for ``Line.call``.
        """
        assert self._line is not None
        return await self._line.call(method, *arguments)

    def pass_on(self, messages: Any) -> None:
        """Send it *messages* that ``packed`` made, or what stands for them on its wire."""
        assert self._line is not None
        self._line.pass_on(messages)

    async def clock_offset(self) -> ClockOffset | None:
        """As ``Place.clock_offset``."""
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
        if self._line is not None:
            self._line.close()
        await self._place.close()
        if self._listening is not None:
            await ended(self._listening)
