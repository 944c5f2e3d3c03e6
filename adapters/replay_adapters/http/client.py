"""
One HTTP exchange with a system: a request, its reply in one piece or as a stream, or a clear error.

Shared by the adapters that speak HTTP. A client keeps the connections of one system; it opens as many
as there are asks under way, follows no redirects, keeps no cookies of its own (conversations must not meet
in them) and sets no deadline: the caller cancels. What must not be sent twice, it says ``once``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple, Self

import aiohttp
from yarl import URL

from replay import AdapterError, AdapterRefusedError, AdapterReplyError, __version__
from replay_adapters.http.connections import StrictConnector, new_session, over_a_used_connection
from replay_adapters.http.failures import SPELL_OUT_ADDRESS, library_error, refusal
from replay_adapters.http.reply import HttpReply, Secrets, encode_json, shown_url
from replay_adapters.setting_checks import check_count


class Cookies:
    """The cookies of one conversation, kept and sent as RFC 6265 says."""

    __slots__ = ("_jar",)

    def __init__(self) -> None:
        # Called unsafe since it takes cookies of hosts that have no name, such as 127.0.0.1.
        self._jar = aiohttp.CookieJar(unsafe=True)

    def header(self, url: URL) -> dict[str, str]:
        """Return the ``Cookie`` header for *url*; empty if no cookie is for it."""
        found = self._jar.filter_cookies(url)
        if not found:
            return {}
        return {"Cookie": "; ".join(f"{one.key}={one.coded_value}" for one in found.values())}

    def take(self, response: aiohttp.ClientResponse) -> None:
        """Keep what *response* sets, and drop what it takes back."""
        set_by = response.headers.getall("Set-Cookie", ())
        if set_by:
            self._jar.update_cookies_from_headers(set_by, response.url)


def trace_headers(traceparent: str | None) -> dict[str, str]:
    """Return the header by which a server's own trace joins ours; empty if there is no trace."""
    return {} if traceparent is None else {"traceparent": traceparent}


MEBIBYTE = 1024 * 1024
MAX_REPLY_BYTES = 16 * MEBIBYTE
REFUSAL_BYTES = 64 * 1024
SHORT_READ_BYTES = 64
"""A mark of the end may be spread over reads as short as this."""
AFTER_THE_END_S = 0.25
"""How long a stream whose last event is there is waited for to end, so that its connection can be used
again; then it is closed."""


class StreamEnd(NamedTuple):
    """How one sees, while a stream is read, that nothing more will come."""

    mark: bytes = b""
    """What stands in a read that may bring (the end of) the last event."""
    ended: Callable[[Sequence[bytes]], bool] | None = None
    """Whether the reads so far hold the last event; asked for reads with the mark, and for very short
    ones. None where only the server's end tells."""


class _Address(NamedTuple):
    """Where a request goes, looked at once."""

    url: URL | str
    """As it is where it can't be read: the HTTP library then says what is wrong with it."""
    place: str
    """Method and address, fit to be shown."""
    has_credentials: bool


@lru_cache(maxsize=4096)
def _address(method: str, url: str) -> _Address:
    try:
        parsed: URL | str = URL(url)
    except ValueError:
        parsed = url
    has_credentials = "@" in url.partition("://")[2].partition("/")[0]
    return _Address(parsed, f"{method} {shown_url(url)}", has_credentials)


def sent_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """
    Return *headers* with our ``User-Agent``.

    Raises:
        ValueError: one of them can't be sent.
    """
    sent = {"User-Agent": f"convreplay/{__version__}", **(headers or {})}
    for name, value in sent.items():
        if not name.strip() or any(c in name + value for c in "\r\n\0"):
            raise ValueError(f'header "{name!r}" has a line break or no name')
    return sent


class ClientAdapter:
    """An adapter that is open as long as its one client is."""

    _client: AbstractAsyncContextManager[None]

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__(None, None, None)


class _Sessions(NamedTuple):
    """Two over the same connections, since a session's own headers cost nothing per request."""

    bodiless: aiohttp.ClientSession
    with_body: aiohttp.ClientSession


class HttpClient:
    """The connections to one system; an async context manager."""

    def __init__(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        unauthorized: str = "check the key it wants",
        reuse_connections: bool = False,
    ) -> None:
        """
        *unauthorized* is the next step after a 401 or 403, for the message. With *reuse_connections* what is
        sent ``once`` may go over used ones.

        Raises:
            ValueError: a header can't be sent, or the limit isn't positive.
        """
        check_count("max_reply_bytes", max_reply_bytes)
        self._headers = sent_headers(headers)
        self._secrets = Secrets(self._headers)
        self._max_reply_bytes = max_reply_bytes
        self._unauthorized = unauthorized
        self._reuse_connections = reuse_connections
        self._kept: _Sessions | None = None
        self._once: _Sessions | None = None

    async def __aenter__(self) -> None:
        if self._kept is not None:
            raise RuntimeError("this adapter is in use already; build one for each run")
        self._kept, self._once = self._sessions(kept=True), self._sessions(kept=False)

    def _sessions(self, *, kept: bool) -> _Sessions:
        connector = StrictConnector(kept=kept)
        kind = {} if any(name.lower() == "content-type" for name in self._headers) else _JSON
        return _Sessions(
            bodiless=new_session(self._headers, connector),
            with_body=new_session({**self._headers, **kind}, connector),
        )

    async def __aexit__(self, *_: object) -> None:
        pairs, self._kept, self._once = (self._kept, self._once), None, None
        for session in (session for pair in pairs if pair is not None for session in pair):
            await session.close()

    async def request(
        self,
        method: str,
        url: str,
        json_body: Any = None,
        *,
        body: bytes | None = None,
        stream: StreamEnd | None = None,
        headers: Mapping[str, str] | None = None,
        cookies: Cookies | None = None,
        once: bool = False,
    ) -> HttpReply:
        """
        Send *json_body* (nothing if None), or *body*, which is JSON already, and wait for the whole reply.

        What a used connection ends under, before anything of a reply, is sent again over a new one; with
        *once* it is not, and goes over a connection of its own.

        With *stream* the reply is read as it comes, until it ends or its last event is there. A connection
        that breaks after a stream began is no exception: what had come is given out with what broke it.
        *headers* are this request's alone, *cookies* its conversation's.

        Raises:
            AdapterError: nothing came back, or no status 2xx, or too much.
        """
        address = _address(method, url)
        place = address.place
        if json_body is not None:
            body = _encode_body(json_body, place)
        reads: list[bytes] = []
        read_at: list[float] = []
        failure: AdapterError | None = None
        streaming = False
        try:
            sent = perf_counter()
            response = await self._send(method, address, body, headers or {}, cookies, once)
            try:
                first_byte = perf_counter()
                succeeded = 200 <= response.status < 300
                if stream is not None and succeeded:
                    streaming = True
                    await self._follow(response, place, reads, read_at, stream)
                else:
                    reads.append(await self._read(response, place))
                    read_at.append(perf_counter())
            finally:
                if not response.closed:  # as it is once it was read to its end
                    response.close()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure = library_error(error, place, self._secrets)
            if not streaming:
                raise failure from (None if isinstance(error, SPELL_OUT_ADDRESS) else error)
        if not succeeded:
            refused = refusal(
                place, response.status, response.headers, reads[0], self._secrets, self._unauthorized
            )
            refused.raw = reads[0]
            raise refused
        return HttpReply(
            place=place,
            status=response.status,
            headers=response.headers,
            reads=reads,
            read_at=read_at,
            sent=sent,
            first_byte=first_byte,
            broken=failure,
            secrets=self._secrets,
        )

    async def _send(
        self,
        method: str,
        address: _Address,
        body: bytes | None,
        headers: Mapping[str, str],
        cookies: Cookies | None,
        once: bool,
    ) -> aiohttp.ClientResponse:
        if self._kept is None or self._once is None:
            raise RuntimeError("enter the adapter (async with adapter) before its first session")
        if address.has_credentials:
            raise AdapterRefusedError(
                f"{address.place}: an address can't hold credentials; use headers_env", reached=False
            )
        url = address.url
        if cookies:
            url = URL(url)
            headers = {**headers, **cookies.header(url)}

        def send(sessions: _Sessions) -> Awaitable[aiohttp.ClientResponse]:
            session = sessions.bodiless if body is None else sessions.with_body
            return session.request(method, url, data=body, headers=headers, allow_redirects=False)

        try:
            response = await send(self._once if once and not self._reuse_connections else self._kept)
        except aiohttp.ClientError as error:
            if once or not over_a_used_connection(error):
                raise
            response = await send(self._once)
        if cookies:
            cookies.take(response)
        return response

    async def _read(self, response: aiohttp.ClientResponse, place: str) -> bytes:
        content = response.content
        most = self._max_reply_bytes
        is_refusal = not 200 <= response.status < 300
        read = await content.readany()
        if content.at_eof() and len(read) <= most:
            return read  # most replies come in one piece
        reads, size = [read], len(read)
        while read:
            if is_refusal and size >= REFUSAL_BYTES:
                break  # enough for a message; the rest is not waited for
            # Counted as it comes, and after decompression, so that no reply can fill the memory.
            if size > most:
                raise self._too_large(response, place)
            read = await content.readany()
            reads.append(read)
            size += len(read)
        return b"".join(reads)

    async def _follow(
        self,
        response: aiohttp.ClientResponse,
        place: str,
        reads: list[bytes],
        read_at: list[float],
        end: StreamEnd,
    ) -> None:
        """The hot loop: reads whatever has come and notes when, and no more than that."""
        content = response.content
        mark, ended = end
        room = self._max_reply_bytes
        while read := await content.readany():
            read_at.append(perf_counter())
            reads.append(read)
            room -= len(read)
            if room < 0:
                raise self._too_large(response, place)
            if ended is not None and (mark in read or len(read) < SHORT_READ_BYTES) and ended(reads):
                if not content.at_eof():
                    await _end_of(content)
                break

    def _too_large(self, response: aiohttp.ClientResponse, place: str) -> AdapterReplyError:
        return AdapterReplyError(
            f"{place} answered {response.status} with more than {self._max_reply_bytes} bytes; "
            "raise max_reply_bytes if that is right",
            status=response.status,
        )


_JSON = {"Content-Type": "application/json"}


def _encode_body(json_body: Any, place: str) -> bytes:
    try:
        return encode_json(json_body)
    except (TypeError, ValueError, RecursionError) as error:
        raise AdapterRefusedError(
            f"{place}: the body is not JSON ({error}); check its template", reached=False
        ) from error


async def _end_of(content: aiohttp.StreamReader) -> None:
    """Read over what comes after the end, for a moment."""
    try:
        async with asyncio.timeout(AFTER_THE_END_S):
            while await content.readany():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError):
        pass  # the answer is there; a connection that can't be used again is closed
