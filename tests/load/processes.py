"""Processes of load runs: the command line as a user starts it, and who is still there afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

from tests.waiting import PATIENCE_S, until_async

MARK = "REPLAY_TEST_MARK"


class Command:
    """``replay`` with arguments, in a process group of its own as a terminal would start it."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self.process = process
        self._mark = mark

    def signal(self, number: int) -> None:
        """What a terminal does at Ctrl-C: all of the group get it."""
        os.killpg(self.process.pid, number)

    async def ended(self) -> tuple[int, str, str]:
        """Its exit status and what it wrote to standard output and standard error."""
        async with asyncio.timeout(PATIENCE_S):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, out.decode(), err.decode()

    async def all_gone(self) -> None:
        """
        Return when no process that came of it, however it was started, is there any more.

        Coreference workers and the like see for themselves that their parent is gone.
        """
        await until_async(lambda: not any(_has_mark(pid, self._mark) for pid in _pids()))


@asynccontextmanager
async def replaying(
    *arguments: str, folder: Path, program: Sequence[str] = ("-m", "replay")
) -> AsyncIterator[Command]:
    """``replay ARGUMENTS`` in *folder*, as Python's *program*; killed at the end if it is still there."""
    mark = uuid4().hex
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *program,
        *arguments,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, MARK: mark, "COLUMNS": "100"},
    )
    try:
        yield Command(process, mark)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def workers_of_this_process() -> list[int]:
    """The ids of the processes that ask for a load run of this one."""
    children = [
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    ]
    return [pid for pid in children if b"replay.workers.worker_main" in _read(pid, "cmdline")]


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _has_mark(pid: int, mark: str) -> bool:
    return f"{MARK}={mark}".encode() in _read(pid, "environ")


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it is gone, or not ours
        return b""
