"""
The connections to one system: kept from request to request, or one for each, and one reply for each request.

HTTP/1.1 has no number on a reply: what comes next over a connection counts as the reply to what was sent
last. A reply that nobody asked for would so become the answer to the next question, and with it all that
follow. A kept connection is therefore looked at before it is used again, and one that has brought more than
it should is closed. What comes still later, when the next question is under way, can't be told from its
answer; so where a system did it once, each of its connections is used once from then on.

A server may also close a kept connection at any time (RFC 9112, section 9.3), with the next question on its
way. Whether that was taken in nobody can tell. What may be asked twice is then sent again over a new
connection, as RFC 9110 (9.2.2) allows; what may not is sent over a connection of its own from the first.
"""

from __future__ import annotations

import asyncio
import logging
import select
from collections.abc import Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

_log = logging.getLogger("replay.http")
_over_used: ContextVar[bool] = ContextVar("over_used", default=False)
"""Whether this task's last request went over a connection that had been used before."""


class SupportsFileno(Protocol):
    """What can be asked whether there is something to be read."""

    def fileno(self) -> int: ...


def new_session(
    headers: Mapping[str, str],
    connector: aiohttp.TCPConnector,
    trace_configs: list[aiohttp.TraceConfig] | None = None,
) -> aiohttp.ClientSession:
    """Return a session without deadlines and cookies, that sends everything once."""
    session = aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=headers,
        trace_configs=trace_configs,
    )
    # It sends GET, PUT and DELETE twice, over new connections too, and there is no public way to say no.
    session._retry_connection = False
    return session


class StrictConnector(aiohttp.TCPConnector):
    """Connections of which none is used again that has brought more than the reply it owed."""

    def __init__(self, *, kept: bool) -> None:
        """*kept* is whether connections are used again at all."""
        # Any number of connections: how many asks there are at a time is the engine's business.
        super().__init__(limit=0, force_close=not kept)
        self._kept = kept
        self._used: WeakKeyDictionary[ResponseHandler, Incoming] = WeakKeyDictionary()
        """What has come over each connection since it was used."""
        self._suspects: set[ConnectionKey] = set()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - the library's parameter
    ) -> Connection:
        """Return a connection on which nothing has been received."""
        key = req.connection_key
        _over_used.set(False)
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            assert protocol is not None
            incoming, clean = self._used.get(protocol), False
            try:
                clean = incoming is None or await self._is_clean(protocol, key, incoming)
            finally:
                if not clean:  # or given up in the meantime
                    connection.close()
            if not clean:
                continue
            if incoming is not None:
                _over_used.set(True)
            elif self._kept:
                transport = protocol.transport
                raw = None if transport is None else transport.get_extra_info("socket")
                self._used[protocol] = Incoming(raw)
            connection.add_callback(partial(self._look_for_more, protocol, key))
            return connection

    async def _is_clean(self, protocol: ResponseHandler, key: ConnectionKey, incoming: Incoming) -> bool:
        if key in self._suspects:
            return False
        await incoming.taken_in()
        self._look_for_more(protocol, key)
        return protocol.is_connected() and not protocol.should_close

    def _look_for_more(self, protocol: ResponseHandler, key: ConnectionKey) -> None:
        """Notice a reply that nobody asked for, which waits to be read."""
        if protocol._buffer and key not in self._suspects:
            self._suspects.add(key)
            _log.warning(
                "%s://%s:%s sent a reply that nobody had asked for; it was thrown away with its connection. "
                "If one came while a question was under way, it was taken for the answer to that. "
                "From now on each connection to it is used once",
                "https" if key.is_ssl else "http",
                key.host,
                key.port,
            )


def over_a_used_connection(error: Exception) -> bool:
    """Return whether this task's last request got no reply because a reused connection ended with *error*."""
    ended = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
    return ended and _over_used.get()


class Incoming:
    """What comes over a socket or a pipe."""

    __slots__ = ("_poll",)

    def __init__(self, raw: SupportsFileno | None) -> None:
        try:
            number = -1 if raw is None else raw.fileno()
        except ValueError:  # a pipe says so of itself when it is closed
            number = -1
        self._poll = None
        if number >= 0 and hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(number, select.POLLIN)

    async def taken_in(self) -> None:
        """Wait until the event loop has taken in what has come by now."""
        if self._poll is not None and not self._poll.poll(0):
            return
        # It is read in the loop's next round, behind whoever comes back in that round, and then handed on.
        for _ in range(4):
            await asyncio.sleep(0)
