"""A process of this machine that plays a part of a run."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress

from loky import cpu_count

from replay.core.errors import InputError
from replay.core.logs import child_environment
from replay.runs.processes.child import STOPPING_S
from replay.runs.processes.socket_wire import SocketWire


class OwnProcess:
    """One such process, which does what ``work`` in a module does."""

    name = ""

    def __init__(self, module: str, *, workers: int) -> None:
        """There are so many *workers* on this machine."""
        self._module = module
        self._workers = workers
        self._process: asyncio.subprocess.Process | None = None

    async def open(self) -> SocketWire:
        ours, theirs = socket.socketpair()
        with theirs:
            wire = await SocketWire.of(ours)
            try:
                self._process = await _spawned(self._module, theirs, _environment(self._workers))
            except BaseException:
                wire.close()
                raise
        return wire

    async def clock_offset(self) -> None:
        """One clock is that of all processes of a machine."""

    async def close(self) -> None:
        if self._process is None:
            return
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOPPING_S):
                    await self._process.wait()
        finally:
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()


def _environment(workers: int) -> dict[str, str]:
    """Environment variables of one of *workers* processes."""
    # Else each would do its arithmetic on all cores, and they would wait for one another.
    threads = {"OMP_NUM_THREADS": str(max(1, cpu_count() // workers))}
    # They find the same modules, wherever this program was started from.
    modules = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return {**threads, **os.environ, **modules, **child_environment()}


async def _spawned(
    module: str, end: socket.socket, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "replay.runs.processes.child_main",
        module,
        str(end.fileno()),
        pass_fds=[end.fileno()],
        env=environment,
        start_new_session=True,  # Ctrl-C is the parent's to handle, from the first moment on
    )


def check_platform(key: str) -> None:
    """
    Raises:
        InputError: this system has no such processes; *key* is the setting that asks for them.
    """
    if sys.platform == "win32":
        raise InputError(f"{key}: several processes need Linux or macOS; use 1 here")
