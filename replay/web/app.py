"""
The application of each of our servers: its headers, what becomes of a failure, and serving it until the end.

All of them look at ``Host`` and ``Origin``, bound the size of a body and the time that it takes, send the
same headers, and let nobody take up their connections for nothing; they differ in how they tell their clients
of a failure and in what their pages may load.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from aiohttp import web

from replay.core.errors import InputError, ReplayError
from replay.web.access import check_host_and_origin

BODY_WITHIN_S = 60.0
MOST_BYTES = 256 * 1024
"""Of a body, where a server doesn't say otherwise."""
_TELLING = ("Allow", "Retry-After", "WWW-Authenticate")
_log = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a request isn't answered as it was meant."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    """As OpenAI's errors name it."""
    headers: Mapping[str, str] = field(default_factory=dict)


def content_policy(*, styles: Iterable[str] = (), images: str = "data:", pages: bool = True) -> str:
    """
    Return the Content-Security-Policy of a server: its own files and nothing inline, but for these *styles*.

    Without *pages* there is nothing to load at all.
    """
    if not pages:
        return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    allowed = " ".join(["'self'", *styles])
    return (
        f"default-src 'none'; script-src 'self'; style-src {allowed}; img-src 'self' {images}; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def new_app(
    *,
    error: Callable[[Failure], web.Response],
    policy: str,
    let_in: Callable[[web.Request], web.Response | None] = lambda request: None,
    own_failure: Callable[[web.Request, Exception], Failure | None] = lambda request, error: None,
    names: Collection[str] = (),
    hint: str = "",
    referrer: str = "no-referrer",
    most_bytes: int = MOST_BYTES,
) -> web.Application:
    """
    Return an application without addresses.

    Args:
        error: makes the answer that tells of a failure.
        policy: its Content-Security-Policy.
        let_in: looks at a request before it is answered; what it returns is the answer. It may raise an
            ``HTTPException``.
        own_failure: what the server knows of an exception that is neither ``HTTPException`` nor bug.
        names: the server's beside its address, in any case.
        hint: how to add a name, said to who calls it by another one.
        referrer: the Referrer-Policy.
        most_bytes: of a body.
    """
    names = {name.lower() for name in names}

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            check_host_and_origin(request, names, hint)
            return let_in(request) or await handler(request)
        except Exception as failed:
            if isinstance(failed, web.HTTPException) and failed.status < 400:
                raise
            return error(own_failure(request, failed) or _failure(request, failed))

    async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = referrer
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"

    app = web.Application(middlewares=[guard], client_max_size=most_bytes)
    app.on_response_prepare.append(add_headers)
    return app


def _failure(request: web.Request, error: Exception) -> Failure:
    if isinstance(error, web.HTTPException):
        headers = {name: error.headers[name] for name in _TELLING if name in error.headers}
        unknown = error.status == 404 and error.reason == "Not Found"
        message = "there is nothing at this address" if unknown else error.reason
        return Failure(status=error.status, message=message, headers=headers)
    if isinstance(error, ReplayError):
        return Failure(status=500, message=str(error), kind="server_error")
    _log.error("%s %s failed", request.method, request.path, exc_info=error)
    return Failure(status=500, message="a fault of the server; its log says more", kind="server_error")


@asynccontextmanager
async def body_in_time() -> AsyncIterator[None]:
    """
    Bound the time in which a body is read within the block.

    Raises:
        web.HTTPRequestTimeout: it did not come.
    """
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            yield
    except TimeoutError:
        reason = f"the body did not come within {BODY_WITHIN_S:g} s; send it again"
        raise web.HTTPRequestTimeout(reason=reason) from None


def html(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return *text* as a page."""
    return web.Response(
        body=text.encode(), status=status, headers=headers, content_type="text/html", charset="utf-8"
    )


def add_assets(app: web.Application, root: str, find: Callable[[str], bytes | None]) -> None:
    """Serve the scripts and styles that *find* has by their names, each as long as its stamp is the same."""

    async def asset(request: web.Request) -> web.Response:
        body = find(name := request.match_info["name"])
        if body is None:
            raise web.HTTPNotFound(reason="there is no such file")
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)

    app.router.add_get(f"{root}/static/{{stamp}}/{{name}}", asset)


def stamp_of(paths: Iterable[Path]) -> str:
    """Return what changes with each file of *paths*, so that a browser keeps none too long."""
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


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
    async def note_request(request: web.Request, handler: Handler) -> web.StreamResponse:
        newcomers.discard(request.protocol)
        return await handler(request)

    app.middlewares.insert(0, note_request)
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=2.0, keepalive_timeout=IDLE_S, lingering_time=LINGER_S
    )
    loop = asyncio.get_running_loop()
    listening: asyncio.Server | None = None

    def new_handler() -> web.RequestHandler:
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
            listening = await loop.create_server(new_handler, host, port, backlog=BACKLOG)
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
