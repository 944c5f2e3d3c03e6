"""
Any adapter as a server: what a system answers in a replay, other programs can ask it over HTTP.

    POST /v1/chat/completions   as OpenAI's, streamed or not: the caller sends the conversation each time
    POST /chat                  {question, session_id?, passages?}: the server keeps the history
    GET  /v1/models, /health, /stats

Two things are meant by it: trying the ``openai`` and ``http`` adapters against a live endpoint, and
putting a system that only has an adapter before tools that want an endpoint. ``replay.web`` says who
may ask. Nobody keeps others waiting: bodies are limited and read in time, large ones apart from the event
loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AsyncExitStack, nullcontext
from math import ceil, isfinite
from typing import TypeVar

from aiohttp import web

from replay.cli.serving.bodies import (
    BadRequest,
    completion,
    completion_events,
    passages,
    read_completion,
    read_question,
)
from replay.cli.serving.sessions import ChatSessions, IdleSessions
from replay.core.adapter import Adapter
from replay.core.asking.retries import open_all, usable_reply
from replay.core.errors import (
    AdapterConnectionError,
    AdapterError,
    AdapterReplyError,
    AdapterTimeoutError,
)
from replay.core.safety.redaction import redact_error
from replay.web.access import bearer, is_token
from replay.web.app import Failure, body_in_time, content_policy, new_app

MEBIBYTE = 1024 * 1024
MAX_BODY_BYTES = 4 * MEBIBYTE
"""A million tokens of English, about."""
INLINE_BYTES = 64 * 1024
"""What is read at once; more is read in a thread."""
TAKEN_WITHIN_S = 60.0
"""Each event of a stream, by whoever asked for it; then its place is given to others."""
CHAT, COMPLETIONS = "/chat", "/v1/chat/completions"
HEALTH = "/health"
"""Says no more than that somebody is there, and is asked by whoever starts containers."""

T = TypeVar("T")


def make_app(
    adapter: Adapter,
    *,
    name: str,
    delay_s: float = 0.0,
    chunk_delay_s: float = 0.0,
    capacity: int | None = None,
    token: str | None = None,
    names: Collection[str] = (),
    max_body_bytes: int = MAX_BODY_BYTES,
) -> web.Application:
    """
    Return a web application that answers with *adapter*, entered when it starts and left when it ends.

    Whoever asks has to send *token*, unless that is None, and to call it by its address or one of *names*.

    *name* is the model's name. *delay_s* is added to each answer, *chunk_delay_s* comes between the pieces of
    a streamed one; more than *capacity* asks at a time wait for each other, to the end of the answer.

    Raises:
        ValueError: a delay is negative, or the capacity or the largest body less than 1.
    """
    for setting, seconds in (("delay_s", delay_s), ("chunk_delay_s", chunk_delay_s)):
        if not (isfinite(seconds) and seconds >= 0):
            raise ValueError(f"{setting} {seconds} is not a number of seconds, 0 or more")
    for setting, count in (("capacity", capacity), ("max_body_bytes", max_body_bytes)):
        if count is not None and count < 1:
            raise ValueError(f"{setting} {count} is not a positive whole number")

    def let_in(request: web.Request) -> None:
        if token is None or request.path == HEALTH:
            return
        given = bearer(request.headers.get("Authorization"))
        if not is_token(given, token):
            what = "no token came" if given is None else "that is not this server's token"
            raise web.HTTPUnauthorized(
                reason=f"{what}; send it as an OpenAI client sends its key: Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )

    server = _Server(adapter, name, delay_s, chunk_delay_s, capacity)
    app = new_app(
        error=_error,
        policy=content_policy(pages=False),
        let_in=let_in,
        own_failure=_own_failure,
        names=names,
        hint="; if that is right, start it with --allow-host NAME",
        most_bytes=max_body_bytes,
    )
    app.cleanup_ctx.append(server.keep_open)
    app.router.add_post(COMPLETIONS, server.complete)
    app.router.add_post(CHAT, server.chat)
    app.router.add_get("/v1/models", server.models)
    app.router.add_get(HEALTH, server.health)
    app.router.add_get("/stats", server.stats)
    return app


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

    async def keep_open(self, app: web.Application) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(open_all((self._adapter,)))
            stack.push_async_callback(self._idle.close)
            stack.push_async_callback(self._chats.close)
            yield

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self._asks[COMPLETIONS] += 1
        asked = await _read(request, read_completion)
        if self._adapter.history == "server":
            raise BadRequest(f"{self._name} keeps the history itself; use POST {CHAT}")
        async with self._slots, self._idle.borrow(asked.conversation) as session:
            await self._delay()
            reply = usable_reply(await session.ask(asked.request), asked.request)
            number = self._asks[COMPLETIONS]
            if asked.stream:
                return await self._send_stream(request, completion_events(self._name, number, asked, reply))
        return web.json_response(completion(self._name, number, asked, reply))

    async def _send_stream(self, request: web.Request, events: Iterable[bytes]) -> web.StreamResponse:
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        response = web.StreamResponse(headers=headers)
        try:
            await response.prepare(request)
            for position, event in enumerate(events):
                if position and self._chunk_delay_s:
                    await asyncio.sleep(self._chunk_delay_s)
                async with asyncio.timeout(TAKEN_WITHIN_S):
                    await response.write(event)
            await response.write_eof()
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()  # whoever asked is gone, or as good as that
        return response

    async def chat(self, request: web.Request) -> web.Response:
        self._asks[CHAT] += 1
        asked = await _read(request, read_question)
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


async def _read(request: web.Request, read: Callable[[bytes], T]) -> T:
    """
    Return the request's body, parsed by *read*.

    Raises:
        BadRequest: it is not JSON, is too large, can't be parsed, or does not arrive in time.
    """
    # A page elsewhere can send a POST without being asked as plain text or as a form, and not as JSON.
    kind = request.content_type
    if kind != "application/json" and not kind.endswith("+json"):
        raise BadRequest(f"the body is {kind}, not JSON; send Content-Type: application/json", 415)
    most = request.client_max_size
    try:
        if (request.content_length or 0) > most:
            raise web.HTTPRequestEntityTooLarge(most, request.content_length or 0)
        async with body_in_time():
            content = await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise BadRequest(
            f"the body has more than {most:,} bytes; start the server with a larger --max-body", 413
        ) from error
    return read(content) if len(content) <= INLINE_BYTES else await asyncio.to_thread(read, content)


def _own_failure(request: web.Request, error: Exception) -> Failure | None:
    """Return what to say of a client's mistake, or of a system that could not answer."""
    if isinstance(error, BadRequest):
        return Failure(status=error.status, message=str(error))
    if isinstance(error, AdapterError):
        redact_error(error)
        wait_s = error.retry_after_s
        headers = {} if wait_s is None else {"Retry-After": str(ceil(wait_s))}
        return Failure(status=_status(error), message=str(error), kind=error.outcome, headers=headers)
    return None


def _status(error: AdapterError) -> int:
    """
    Return the HTTP status by which a client's adapter comes to the same outcome, as far as there is one.
    """
    if error.outcome == "rate-limited":
        return 429
    if isinstance(error, AdapterTimeoutError):
        return 504
    if isinstance(error, AdapterConnectionError | AdapterReplyError):
        return 502
    if error.status is not None and 400 <= error.status < 600:
        return error.status
    return 503 if error.retryable else 422


def _error(failure: Failure) -> web.Response:
    """Return *failure* in the shape of OpenAI's errors."""
    error = {"message": failure.message, "type": failure.kind, "param": None, "code": failure.status}
    return web.json_response({"error": error}, status=failure.status, headers=failure.headers)
