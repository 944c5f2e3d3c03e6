"""Workers of a run, as tasks of this process: all but their start, which takes a second."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from multiprocessing.connection import Connection

import pytest
from msgspec.structs import replace

from replay.core.record import TurnRecord
from replay.results.run import Run
from replay.workers import process
from replay.workers.worker_main import serve_parent


class Inside:
    """In place of a process."""

    def __init__(self, module: str, end: socket.socket, memory: int) -> None:
        self._end = end.dup()
        pipe = Connection(end.dup().detach())
        self._memory = os.dup(memory)
        self._task = asyncio.create_task(serve_parent(module, pipe, self._memory))
        self._task.add_done_callback(self._close)

    @property
    def returncode(self) -> int | None:
        return 0 if self._task.done() else None

    async def wait(self) -> None:
        await asyncio.wait([self._task])

    def terminate(self) -> None:
        """As SIGTERM does; once, since a task that is cancelled while it cleans up would leave the rest."""
        if not self._task.cancelling():
            self._task.cancel()

    def kill(self) -> None:
        """As SIGKILL: the parent hears nothing more."""
        if not self._task.done():
            self._end.shutdown(socket.SHUT_RDWR)
            self.terminate()

    def _close(self, _: asyncio.Task[None]) -> None:
        """What the system closes of a process that has ended."""
        self._end.close()
        os.close(self._memory)


def started_inside(monkeypatch: pytest.MonkeyPatch) -> list[Inside]:
    """Those that are started from now on, in that order."""
    started: list[Inside] = []

    async def spawned(
        module: str, end: socket.socket, shared: tuple[int, int], environment: Mapping[str, str]
    ) -> Inside:
        started.append(Inside(module, end, shared[0]))
        return started[-1]

    monkeypatch.setattr(process, "_spawn", spawned)
    return started


def contents(run: Run) -> dict[tuple[str, str, str, int], TurnRecord]:
    """All records but for their times, by place."""
    return {
        (one.system, one.policy, one.conversation, one.depth): replace(
            one, timing=None, started_at=None, step_times_s=()
        )
        for one in run.records()
    }
