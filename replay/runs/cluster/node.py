"""What an actor on a node of the cluster is: it plays as a process of one machine does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from time import perf_counter

from replay.core.logs import configure_from_environment
from replay.runs.cluster.wires import NodeWire
from replay.runs.processes.child_main import serve_parent


class Node:
    """One such actor; its methods are called by the program that plays the run."""

    def __init__(self) -> None:
        self._wire = NodeWire()
        self._playing: asyncio.Task[None] | None = None

    async def begin(self, module: str, environment: Mapping[str, str]) -> None:
        """Do what ``work`` in *module* does, with *environment* variables beside those that are there."""
        os.environ.update(environment)
        configure_from_environment()
        self._playing = asyncio.create_task(serve_parent(module, self._wire))

    async def clock(self) -> float:
        """A reading of ``perf_counter`` here."""
        return perf_counter()

    async def take(self, number: int, messages: list[bytes]) -> None:
        """As ``NodeWire.take``."""
        self._wire.take(number, messages)

    async def give(self) -> list[bytes] | None:
        """As ``NodeWire.give``."""
        return await self._wire.give()
