"""A study in a process of its own, as `replay study serve` serves it, to be killed and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]


class StudyProcess:
    """Always at the same address, so that a browser's page can just be loaded anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._port = "0"
        self.links: dict[str, str] = {}
        """Of the owner and of each rater, by name."""

    async def start(self, **environment: str) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.study.talks", "study", "serve"),
            *("study.yaml", "--port", self._port),
            cwd=self._folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT), **environment},
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            name = ""
            while name != "rater-2":
                line = (await self._process.stdout.readline()).decode()
                assert line, "the server ended"
                name, _, link = line.strip().partition(": ")
                self.links[name] = link
                self._port = link.partition("//")[2].partition("/")[0].rpartition(":")[2]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        await self.killed()

    async def killed(self) -> None:
        """Wait until it is dead of SIGKILL."""
        assert self._process is not None
        assert await self._process.wait() == -signal.SIGKILL

    async def end(self) -> int:
        """As Ctrl+C does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return await self._process.wait()


@asynccontextmanager
async def study_process(text: str, folder: Path) -> AsyncIterator[StudyProcess]:
    """A process that serves the study file *text*, once it is started."""
    (folder / "study.yaml").write_text(text)
    process = StudyProcess(folder)
    try:
        yield process
    finally:
        if process._process is not None and process._process.returncode is None:
            await process.kill()
