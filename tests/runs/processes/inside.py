"""Processes that play a part of a run, as tasks of this one: all but their start, which takes a second."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from replay.core.record import TurnRecord
from replay.runs.processes import own_process
from replay.runs.processes.child_main import _serve
from replay.runs.run import Run


class Inside:
    """In the place of a process."""

    def __init__(self, module: str, end: socket.socket) -> None:
        self._end = end.dup()
        self._task = asyncio.create_task(_serve(module, end.dup()))

    @property
    def returncode(self) -> int | None:
        return 0 if self._task.done() else None

    async def wait(self) -> None:
        await asyncio.wait([self._task])
        self._end.close()

    def kill(self) -> None:
        """As SIGKILL: the other end of the line learns of it, and nothing more comes."""
        if not self._task.done():
            self._end.shutdown(socket.SHUT_RDWR)
            self._task.cancel()


def started_inside(monkeypatch: pytest.MonkeyPatch) -> list[Inside]:
    """Those that are started from now on, in that order."""
    started: list[Inside] = []

    async def spawned(module: str, end: socket.socket, environment: Mapping[str, str]) -> Inside:
        started.append(Inside(module, end))
        return started[-1]

    monkeypatch.setattr(own_process, "_spawned", spawned)
    return started


def contents(run: Run) -> dict[tuple[str, str, str, int], TurnRecord]:
    """All records but for their times, by place."""
    return {
        (one.system, one.policy, one.conversation, one.depth): replace(
            one, timing=None, started_at=None, step_times_s=()
        )
        for one in run.records()
    }
