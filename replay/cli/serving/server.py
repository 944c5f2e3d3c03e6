"""
Any adapter as a server: what a system answers in a replay, other programs can ask it over HTTP.

    POST /v1/chat/completions   as OpenAI's, streamed or not: the caller sends the conversation each time
    POST /chat                  {question, session_id?, passages?}: the server keeps the history
    GET  /v1/models, /health, /stats

Two things are meant by it: trying the ``openai`` and ``http`` adapters against a live endpoint, and
putting a system that only has an adapter before tools that want an endpoint. For one's own machine:
it asks for no key and binds to loopback unless told otherwise.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, nullcontext
from math import ceil, isfinite
from typing import Any

from aiohttp import web

from replay.cli.serving.reply import completion, completion_events, passages
from replay.cli.serving.request import BadRequest, read_completion, read_question
from replay.cli.serving.sessions import ChatSessions, IdleSessions
from replay.core.adapter import Adapter
from replay.core.asking.opening import opened
from replay.core.errors import (
    AdapterConnectionError,
    AdapterError,
    AdapterReplyError,
    AdapterTimeoutError,
    InputError,
)
from replay.core.secret_hiding import hide_in_error, hide_in_reply

MAX_BODY_BYTES = 64 * 1024 * 1024
BACKLOG = 4096
"""Connections that may wait to be accepted. With the usual 128, a burst of more loses some of its first
packets, and those asks take a second longer."""
CHAT, COMPLETIONS = "/chat", "/v1/chat/completions"

_log = logging.getLogger(__name__)


def make_app(
    adapter: Adapter,
    *,
    name: str,
    delay_s: float = 0.0,
    chunk_delay_s: float = 0.0,
    capacity: int | None = None,
) -> web.Application:
    """
    A web application that answers with *adapter*, entered when it starts and left when it ends.

    *name* is the model's name. *delay_s* is added to each answer, *chunk_delay_s* comes between the pieces
    of a streamed one; more than *capacity* asks at a time wait for each other, to the end of the answer.

    Raises:
        ValueError: a delay is negative or the capacity less than 1.
    """
    for setting, seconds in (("delay_s", delay_s), ("chunk_delay_s", chunk_delay_s)):
        if not (isfinite(seconds) and seconds >= 0):
            raise ValueError(f"{setting} {seconds} is not a number of seconds, 0 or more")
    if capacity is not None and capacity < 1:
        raise ValueError(f"capacity {capacity} is not a positive whole number")
    server = _Server(adapter, name, delay_s, chunk_delay_s, capacity)
    app = web.Application(middlewares=[_errors_as_json], client_max_size=MAX_BODY_BYTES)
    app.cleanup_ctx.append(server.entered)
    app.router.add_post(COMPLETIONS, server.complete)
    app.router.add_post(CHAT, server.chat)
    app.router.add_get("/v1/models", server.models)
    app.router.add_get("/health", server.health)
    app.router.add_get("/stats", server.stats)
    return app


async def serve(
    app: web.Application,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    ready: Callable[[str], None] | None = None,
) -> None:
    """
    Serve *app* until cancelled; *ready* is told the server's address once it answers.

    Port 0 takes any free port.

    Raises:
        InputError: nobody can listen there.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2.0)
    try:
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"can't listen on {host}:{port} ({reason}); choose another port") from error
        if ready is not None:
            ready(f"http://{f'[{host}]' if ':' in host else host}:{runner.addresses[0][1]}")
        await asyncio.get_running_loop().create_future()
    finally:
        await runner.cleanup()


class _Server:
    def __init__(
        self, adapter: Adapter, name: str, delay_s: float, chunk_delay_s: float, capacity: int | None
    ) -> None:
        self._adapter = adapter
        self._name = name
        self._delay_s = delay_s
        self._chunk_delay_s = chunk_delay_s
        self._slots = asyncio.Semaphore(capacity) if capacity is not None else nullcontext()
        self._idle = IdleSessions(adapter)
        self._chats = ChatSessions(adapter)
        self._asks: Counter[str] = Counter()

    async def entered(self, app: web.Application) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(opened((self._adapter,)))
            stack.push_async_callback(self._idle.close)
            stack.push_async_callback(self._chats.close)
            yield

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self._asks[COMPLETIONS] += 1
        asked = read_completion(await _json_body(request))
        if self._adapter.history == "server":
            raise BadRequest(f"{self._name} keeps the history itself; use POST {CHAT}")
        async with self._slots, self._idle.borrow(asked.conversation) as session:
            await self._delay()
            reply = hide_in_reply(await session.ask(asked.request))
            number = self._asks[COMPLETIONS]
            if asked.stream:
                return await self._streamed(request, completion_events(self._name, number, asked, reply))
        return web.json_response(completion(self._name, number, asked, reply))

    async def _streamed(self, request: web.Request, events: Iterable[bytes]) -> web.StreamResponse:
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        response = web.StreamResponse(headers=headers)
        try:
            await response.prepare(request)
            for position, event in enumerate(events):
                if position and self._chunk_delay_s:
                    await asyncio.sleep(self._chunk_delay_s)
                await response.write(event)
            await response.write_eof()
        except ConnectionError:
            pass  # whoever asked is gone
        return response

    async def chat(self, request: web.Request) -> web.Response:
        self._asks[CHAT] += 1
        asked = read_question(await _json_body(request))
        # The chat's own turn first: an ask that waits for another of its chat must not take up a slot.
        async with self._chats.turn(asked) as chat, self._slots:
            await self._delay()
            reply = await chat.ask(asked.question)
        return web.json_response({"answer": reply.text, "session_id": chat.id, "passages": passages(reply)})

    async def _delay(self) -> None:
        if self._delay_s:
            await asyncio.sleep(self._delay_s)

    async def models(self, request: web.Request) -> web.Response:
        model = {"id": self._name, "object": "model", "created": 0, "owned_by": "convreplay"}
        return web.json_response({"object": "list", "data": [model]})

    async def health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def stats(self, request: web.Request) -> web.Response:
        asks = {path: self._asks[path] for path in (CHAT, COMPLETIONS)}
        return web.json_response({"asks": asks, "sessions": len(self._chats)})


async def _json_body(request: web.Request) -> Any:
    try:
        return json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


@web.middleware
async def _errors_as_json(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Every failure in the shape of OpenAI's errors."""
    try:
        return await handler(request)
    except BadRequest as error:
        return _error(error.status, str(error), "invalid_request_error")
    except AdapterError as error:
        hide_in_error(error)
        wait_s = error.retry_after_s
        headers = {} if wait_s is None else {"Retry-After": str(ceil(wait_s))}
        return _error(_status(error), str(error), error.outcome, headers)
    except web.HTTPException as error:
        return _error(error.status, error.reason, "invalid_request_error")
    except Exception:  # noqa: BLE001 - a client gets an answer whatever happens; the log has the rest
        _log.exception("%s %s failed", request.method, request.path)
        return _error(500, "a fault of the server; its log says more", "server_error")


def _status(error: AdapterError) -> int:
    """The HTTP status by which a client's adapter comes to the same outcome, as far as there is one."""
    if error.outcome == "rate-limited":
        return 429
    if isinstance(error, AdapterTimeoutError):
        return 504
    if isinstance(error, AdapterConnectionError | AdapterReplyError):
        return 502
    if error.status is not None and 400 <= error.status < 600:
        return error.status
    return 503 if error.retryable else 422


def _error(status: int, message: str, kind: str, headers: Mapping[str, str] | None = None) -> web.Response:
    error = {"message": message, "type": kind, "param": None, "code": status}
    return web.json_response({"error": error}, status=status, headers=headers)
