"""
A chat server on this machine that counts what reaches it, and fails where it is told to.

A real server behind a real socket, for tests that a fake adapter would prove little in.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from threading import Thread
from typing import Any, TypeVar

from aiohttp import web


class ChatServer:
    """Answers "Answer to QUESTION", as Chat Completions (``system``) or as plain JSON (``keeper``)."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        """How often each question was asked."""
        self.broken: set[str] = set()
        """Questions that get a status of 400."""
        self.answers: dict[str, str] = {}
        """Other answers, by question."""
        self.delay_s = delay_s
        """How long each answer takes, in real seconds."""
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The server's address, such as ``http://127.0.0.1:8080``, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def system(self) -> dict[str, Any]:
        """Its entry among a scenario's systems."""
        settings = {"base_url": f"{self.url}/v1", "model": "m"}
        return {"name": "server", "adapter": "openai", "settings": settings}

    @property
    def keeper(self) -> dict[str, Any]:
        """The same, as a system that keeps each conversation's history itself."""
        settings = {
            "url": f"{self.url}/said",
            "body": {"question": "{{question}}"},
            "answer": "answer",
            "history": "server",
        }
        return {"name": "server", "adapter": "http", "settings": settings}

    async def quiet(self) -> None:
        """Wait until nobody is connected: what a killed client had sent has then been counted."""
        assert self._runner is not None
        assert self._runner.server is not None
        while self._runner.server.connections:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.002)

    async def _reply(self, question: str) -> str:
        self.asked[question] += 1
        await asyncio.sleep(self.delay_s)
        if question in self.broken:
            raise web.HTTPBadRequest
        return self.answers.get(question, f"Answer to {question}")

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        answer = await self._reply(body["messages"][-1]["content"])
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": answer}}]})

    async def _said(self, request: web.Request) -> web.Response:
        body = await request.json()
        return web.json_response({"answer": await self._reply(body["question"])})


@asynccontextmanager
async def chat_server(delay_s: float = 0.0) -> AsyncIterator[ChatServer]:
    """Yield a server on a free port of this machine, which runs as long as the block lasts."""
    server = ChatServer(delay_s)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server._chat)
    app.router.add_post("/said", server._said)
    server._runner = runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


T = TypeVar("T")


@contextmanager
def mock_system(delay_s: float = 0.0) -> Iterator[ChatServer]:
    """
    Run a system under test on a real socket of this machine, in a thread, as long as the block lasts.

    Its ``system`` is its entry in a scenario. ``answers`` has its answers by question, ``broken`` the
    questions that fail, and ``asked`` how often each was asked. Every answer takes *delay_s* seconds.
    """
    loop, opened = asyncio.new_event_loop(), AsyncExitStack()
    thread = Thread(target=loop.run_forever, name="mock-system", daemon=True)
    thread.start()

    def wait_for(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        yield wait_for(opened.enter_async_context(chat_server(delay_s)))
    finally:
        wait_for(opened.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
