"""Servers on this machine that adapters are tried against: well-behaved ones, and broken ones."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from tests.waiting import PATIENCE_S, others_first

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def running(app: web.Application) -> AsyncIterator[str]:
    """*app* at the address that is given out."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def answering(handler: Handler) -> AsyncIterator[str]:
    """A server that lets *handler* answer whatever is asked."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    async with running(app) as address:
        yield address


@contextmanager
def in_a_thread(server: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What *server* gives, by an event loop in a thread of its own, for tests that wait for a client."""
    begun: Future[T] = Future()
    over = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        try:
            async with server as given:
                begun.set_result(given)
                await over.wait()
        except BaseException as error:
            if not begun.done():
                begun.set_exception(error)
            raise

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    try:
        yield begun.result(PATIENCE_S)
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(PATIENCE_S)
        loop.close()


@asynccontextmanager
async def listening(serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]) -> AsyncIterator[str]:
    """A server that lets *serve* deal with each connection."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await others_first()  # the connections' tasks end


@asynccontextmanager
async def playing(*chunks: bytes, reset: bool = False, stay: bool = False) -> AsyncIterator[str]:
    """
    A server that reads a request and sends *chunks* as they are, whatever HTTP says.

    Then it closes the connection, with a reset if *reset*, or leaves it open if *stay*.
    """
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for chunk in chunks:
                writer.write(chunk)
                await writer.drain()
            if stay:
                await done.wait()
            if reset:
                await others_first()  # so that what was sent isn't overtaken by the reset
                writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with listening(serve) as address:
        try:
            yield address
        finally:
            done.set()


_unused = socket.socket()
_unused.bind(("127.0.0.1", 0))


async def unused_address() -> str:
    """An address where nobody listens, and nobody can: it is taken by a socket of ours that doesn't."""
    return f"http://127.0.0.1:{_unused.getsockname()[1]}"


def http(body: bytes, *, status: str = "200 OK", headers: str = "", length: int | None = None) -> bytes:
    """An HTTP/1.1 reply as bytes; *length* is what it claims of its body."""
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{headers}\r\n".encode() + body


def completion(text: Any, **more: Any) -> dict[str, Any]:
    """A Chat Completions reply."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], **more}


def event(value: Any, name: str = "") -> bytes:
    """A server-sent event with *value* as JSON, or as it is if it is a text."""
    data = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"{f'event: {name}' + chr(10) if name else ''}data: {data}\n\n".encode()


def delta(text: Any, finish: str | None = None, **more: Any) -> bytes:
    """An event of a streamed Chat Completions reply."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    return event({"object": "chat.completion.chunk", "choices": [choice], **more})


async def streamed(request: web.Request, *parts: bytes) -> web.StreamResponse:
    """A stream of *parts*, each of which is sent by itself."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for part in parts:
        await response.write(part)
    return response


@asynccontextmanager
async def cutting(stream: bytes) -> AsyncIterator[str]:
    """
    A server that sends the beginning of *stream* and closes the connection.

    The address is followed by how much it sends, and by how a client could know that it isn't all:
    ``/100/chunked``, ``/100/length``, or ``/100/close``, where it can't.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            _, much, framing, *_ = head.split()[1].split("/")
            part = stream[: int(much)]
            kind = {
                "chunked": "Transfer-Encoding: chunked\r\n",
                "length": f"Content-Length: {len(stream) + 1}\r\n",
                "close": "",
            }[framing]
            if framing == "chunked":
                part = f"{len(part) + 1:x}\r\n".encode() + part
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{kind}\r\n".encode() + part)
            await writer.drain()
        finally:
            writer.close()

    async with listening(serve) as address:
        yield address
