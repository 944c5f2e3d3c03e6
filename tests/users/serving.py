"""A shop and the model that plays its users, over HTTP; and a run that is killed while the shop answers."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from replay.results.run import Run, newest_run
from tests.waiting import others_first


class Server:
    """The shop at ``/system`` says *answers*; a user at ``/user`` says what *say* makes of the prompt."""

    def __init__(self, say: Callable[[str], str | None], answers: Mapping[str, str], otherwise: str) -> None:
        self.say = say
        self.answers = answers
        self.otherwise = otherwise
        self.prompts: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.hold: asyncio.Event | None = None
        self.held = ""
        """The question whose answer waits for *hold*; ``reached`` says that it was asked."""
        self.reached = asyncio.Event()
        self.port = 9

    async def _system(self, request: web.Request) -> web.Response:
        question = (await request.json())["messages"][-1]["content"]
        self.asked.append(question)
        if self.hold and question == self.held:
            self.reached.set()
            await self.hold.wait()
        return self._said(self.answers.get(question, self.otherwise))

    async def _user(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        self.prompts.append(self.bodies[-1]["messages"][-1]["content"])
        text = self.say(self.prompts[-1])
        return self._said(text) if text is not None else web.Response(status=500)

    async def _judge(self, request: web.Request) -> web.Response:
        prompt = (await request.json())["messages"][-1]["content"]
        return self._said("Yes, it did." if "refunded" in prompt else "No, it did not.")

    def _said(self, text: str) -> web.Response:
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return web.json_response({"choices": [{"message": {"content": text}}], "usage": usage})

    def adapter(self, path: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}/{path}"
        return {"adapter": "openai", "settings": {"base_url": url, "model": "m"}}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Server]:
        app = web.Application()
        for path in ("system", "user", "judge"):
            app.router.add_post(f"/{path}/chat/completions", getattr(self, f"_{path}"))
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.port = runner.addresses[0][1]
            yield self
        finally:
            await runner.cleanup()


async def program(*arguments: str, cwd: Path) -> asyncio.subprocess.Process:
    """Return a ``replay`` that was started with *arguments*."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "replay", *arguments),
        cwd=cwd,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def killed_while_held(server: Server, scenario: Mapping[str, Any], folder: Path) -> Run:
    """Return the run of *scenario*, played by a process that is killed while *server* holds an answer."""
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario))
    process = await program("run", "s.yaml", cwd=folder)
    await server.reached.wait()
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await others_first()
    assert server.hold is not None
    server.hold.set()
    server.hold = None
    return Run(newest_run(folder / "runs"))
