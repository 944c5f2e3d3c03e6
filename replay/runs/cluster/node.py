"""What an actor on a node of the cluster is: it plays as a process of one machine does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

from replay.core.cancelling import ended
from replay.core.logs import Told, logged_elsewhere
from replay.runs.cluster.luggage import Files, Variables, unpacked
from replay.runs.cluster.wires import NodeWire
from replay.runs.processes.child import Job
from replay.runs.processes.child_main import serve_parent
from replay.runs.processes.line import Line


class Node:
    """One such actor; its methods are called by the program that plays the run."""

    def __init__(self) -> None:
        self._wire = NodeWire()
        self._playing: asyncio.Task[None] | None = None

    async def begin(self, module: str, name: str, log_level: int, files: Files, variables: Variables) -> None:
        """
        Do what ``work`` in *module* does, with *files* and *variables*.

        *name* is what the node is called in the log that the program keeps, from *log_level* on.
        """

        @contextmanager
        def arranged(job: Job, line: Line) -> Iterator[Job]:
            loop = asyncio.get_running_loop()

            def send(told: Told) -> None:
                loop.call_soon_threadsafe(line.tell, "log", told, name)

            with logged_elsewhere(log_level, send), unpacked(files, variables) as folder:
                yield replace(job, folder=str(folder))

        self._playing = asyncio.create_task(serve_parent(module, self._wire, arranged))

    async def clear(self) -> None:
        """Return when nothing of what it did is left here."""
        if self._playing is not None:
            await ended(self._playing)

    async def clock(self) -> float:
        """A reading of ``perf_counter`` here."""
        return perf_counter()

    async def take(self, number: int, messages: list[bytes]) -> None:
        """As ``NodeWire.take``."""
        self._wire.take(number, messages)

    async def give(self) -> list[bytes] | None:
        """As ``NodeWire.give``."""
        return await self._wire.give()
