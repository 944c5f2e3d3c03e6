"""
Serves a web application until it is told to end, and lets nobody take up its connections for nothing.

The programs that serve (a system, runs, a study) differ in what they answer and in whom they let in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from replay.core.errors import InputError

HEADERS_WITHIN_S = 20.0
"""Of a new connection's first request."""
IDLE_S = 75.0
"""How long a connection is kept for another request, the time in which that comes included."""
LINGER_S = 1.0
"""How long the rest of a refused request is read, so that its sender sees why. aiohttp's own 10 s would keep
a place for somebody who was sent away for being too slow."""
BACKLOG = 4096
"""Connections that may wait to be accepted. With the usual 128, a burst of more loses some of its first
packets, and those requests take a second longer."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
    newcomers: set[web.RequestHandler] = set()

    @web.middleware
    async def heard(request: web.Request, handler: Handler) -> web.StreamResponse:
        newcomers.discard(request.protocol)
        return await handler(request)

    app.middlewares.insert(0, heard)
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=2.0, keepalive_timeout=IDLE_S, lingering_time=LINGER_S
    )
    loop = asyncio.get_running_loop()
    listening: asyncio.Server | None = None

    def connected() -> web.RequestHandler:
        assert runner.server is not None
        newcomer = runner.server()
        newcomers.add(newcomer)
        loop.call_later(HEADERS_WITHIN_S, hang_up, newcomer)
        return newcomer

    def hang_up(newcomer: web.RequestHandler) -> None:
        # Somebody who has asked nothing by then keeps a place that others may need.
        if newcomer in newcomers:
            newcomers.discard(newcomer)
            if newcomer.transport is not None:
                newcomer.transport.abort()

    try:
        await runner.setup()
        try:
            listening = await loop.create_server(connected, host, port, backlog=BACKLOG)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"can't listen on {host}:{port} ({reason}); choose another port") from error
        if ready is not None:
            taken = listening.sockets[0].getsockname()[1]
            ready(f"http://{f'[{host}]' if ':' in host else host}:{taken}")
        await loop.create_future()
    finally:
        if listening is not None:
            listening.close()
        await runner.cleanup()
