"""Servers on this machine that adapters are tried against: well-behaved ones, and broken ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

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
                await asyncio.sleep(0.005)  # so that what was sent isn't overtaken by the reset
                writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        done.set()
        server.close()
        await asyncio.sleep(0.002)  # lets the connections' tasks end


async def unused_address() -> str:
    """An address where nobody listens."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return f"http://127.0.0.1:{port}"


def http(body: bytes, *, status: str = "200 OK", headers: str = "", length: int | None = None) -> bytes:
    """An HTTP/1.1 reply as bytes; *length* is what it claims of its body."""
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{headers}\r\n".encode() + body


def completion(text: Any, **more: Any) -> dict[str, Any]:
    """A Chat Completions reply."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"choices": [choice], **more}
