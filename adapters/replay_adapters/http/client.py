"""
One HTTP exchange with a system: a request, its reply in one piece or as a stream, or a clear error.

Shared by the adapters that speak HTTP. A client keeps the connections of one system; it opens as many
as there are asks under way, follows no redirects, keeps no cookies of its own (conversations must not meet
in them) and sets no deadline: the caller cancels.

A server may close an idle connection in the very moment in which a question is sent on it. Nobody can
tell then whether the question was taken in, so it isn't sent again behind the player's back: it is a
connection failure that may be tried again, as any connection that breaks is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import aiohttp
from yarl import URL

from replay import AdapterError, AdapterRefusedError, AdapterReplyError, WireTimes, __version__
from replay_adapters.http.cookies import Extras
from replay_adapters.http.failures import broken, refusal
from replay_adapters.http.redaction import Secrets, shown_url
from replay_adapters.http.reply import HttpPlace, HttpReply, StreamedReply
from replay_adapters.json_bytes import encode_json

__all__ = ["MAX_REPLY_BYTES", "HttpClient", "HttpReply", "StreamedReply"]

MEBIBYTE = 1024 * 1024
MAX_REPLY_BYTES = 16 * MEBIBYTE
REFUSAL_BYTES = 64 * 1024
SHORT_READ_BYTES = 64
"""A mark of the end may be spread over reads as short as this."""
AFTER_THE_END_S = 0.25
"""How long a stream whose last event is there is waited for to end, so that its connection can be used
again; then it is closed."""


@dataclass(frozen=True, slots=True)
class _Address:
    """An address, looked at once."""

    url: URL | str
    """As it is where it can't be read: the HTTP library then says what is wrong with it."""
    shown: str
    has_credentials: bool


@lru_cache(maxsize=4096)
def _address(url: str) -> _Address:
    try:
        parsed: URL | str = URL(url)
    except ValueError:
        parsed = url
    return _Address(parsed, shown_url(url), "@" in url.partition("://")[2].partition("/")[0])


class HttpClient:
    """The connections to one system; an async context manager."""

    def __init__(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        unauthorized: str = "check the key it wants",
    ) -> None:
        """
        *unauthorized* is the next step after a 401 or 403, for the message.

        Raises:
            ValueError: a header can't be sent, or the limit isn't positive.
        """
        if max_reply_bytes < 1:
            raise ValueError(f"max_reply_bytes {max_reply_bytes} is not a positive whole number")
        self._headers = {"User-Agent": f"convreplay/{__version__}", **(headers or {})}
        for name, value in self._headers.items():
            if not name.strip() or any(c in name + value for c in "\r\n\0"):
                raise ValueError(f'header "{name!r}" has a line break or no name')
        self._secrets = Secrets(self._headers)
        self._max_reply_bytes = max_reply_bytes
        self._unauthorized = unauthorized
        self._with_body: aiohttp.ClientSession | None = None
        self._bodiless: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> None:
        if self._with_body is not None:
            raise RuntimeError("this adapter is in use already; build one for each run")
        # Any number of connections: how many asks there are at a time is the engine's business.
        connector = aiohttp.TCPConnector(limit=0)
        # Two sessions over the same connections, since a session's own headers cost nothing per request.
        self._bodiless = self._session(connector, self._headers)
        kind = {} if any(name.lower() == "content-type" for name in self._headers) else _JSON
        self._with_body = self._session(connector, {**self._headers, **kind})

    def _session(self, connector: aiohttp.TCPConnector, headers: Mapping[str, str]) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
        )

    async def __aexit__(self, *_: object) -> None:
        sessions, self._with_body, self._bodiless = (self._with_body, self._bodiless), None, None
        for session in sessions:
            if session is not None:
                await session.close()

    async def request(
        self,
        method: str,
        url: str,
        json_body: Any = None,
        *,
        body: bytes | None = None,
        extras: Extras | None = None,
    ) -> HttpReply:
        """
        Send *json_body* (nothing if None), or *body*, which is JSON already, and wait for the whole reply.

        *extras* are this request's alone.

        Raises:
            AdapterError: nothing came back, or no status 2xx, or too much.
        """
        address = _address(url)
        place = HttpPlace(method, address.shown)
        if json_body is not None:
            body = _encoded(json_body, place)
        try:
            sent = perf_counter()
            response = await self._send(method, address, place, body, extras)
            try:
                first_byte = perf_counter()
                content = await self._read(response, place)
                done = perf_counter()
            finally:
                if not response.closed:  # as it is once it was read to its end
                    response.close()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise broken(error, place, self._secrets) from error
        if not 200 <= response.status < 300:
            raise self._refusal(response, place, content)
        return HttpReply(
            place=place,
            status=response.status,
            headers=response.headers,
            body=content,
            times=WireTimes(sent=sent, first_byte=first_byte, done=done),
            secrets=self._secrets,
        )

    async def stream(
        self,
        method: str,
        url: str,
        json_body: Any = None,
        *,
        body: bytes | None = None,
        mark: bytes = b"",
        ended: Callable[[Sequence[bytes]], bool] | None = None,
        extras: Extras | None = None,
    ) -> StreamedReply:
        """
        Send as ``request`` does and read the reply as it comes, until it ends or *ended* says so.

        *ended* is shown the reads so far after each one that may hold (the end of) *mark*. A connection
        that breaks after the reply began is no exception: what had come is given out with what broke it.

        Raises:
            AdapterError: nothing came back, or no status 2xx, or too much.
        """
        address = _address(url)
        place = HttpPlace(method, address.shown)
        if json_body is not None:
            body = _encoded(json_body, place)
        reads: list[bytes] = []
        read_at: list[float] = []
        failure: AdapterError | None = None
        begun = False
        try:
            sent = perf_counter()
            response = await self._send(method, address, place, body, extras)
            try:
                first_byte = perf_counter()
                if not 200 <= response.status < 300:
                    raise self._refusal(response, place, await self._read(response, place))
                begun = True
                await self._follow(response, place, reads, read_at, mark, ended)
            finally:
                if not response.closed:
                    response.close()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure = broken(error, place, self._secrets)
            if not begun:
                raise failure from error
        return StreamedReply(
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
        self, method: str, address: _Address, place: HttpPlace, body: bytes | None, extras: Extras | None
    ) -> aiohttp.ClientResponse:
        session = self._bodiless if body is None else self._with_body
        if session is None:
            raise RuntimeError("enter the adapter (async with adapter) before its first session")
        if address.has_credentials:
            raise AdapterRefusedError(
                f"{place}: an address can't hold credentials; use headers_env", reached=False
            )
        if extras is None:
            return await session.request(method, address.url, data=body, allow_redirects=False)
        cookies, url = extras.cookies, URL(address.url)
        headers = {**extras.headers, **(cookies.header(url) if cookies else {})}
        response = await session.request(method, url, data=body, headers=headers, allow_redirects=False)
        if cookies:
            cookies.take(response)
        return response

    async def _read(self, response: aiohttp.ClientResponse, place: HttpPlace) -> bytes:
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
        place: HttpPlace,
        reads: list[bytes],
        read_at: list[float],
        mark: bytes,
        ended: Callable[[Sequence[bytes]], bool] | None,
    ) -> None:
        """The hot loop: reads whatever has come and notes when, and no more than that."""
        content = response.content
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

    def _too_large(self, response: aiohttp.ClientResponse, place: HttpPlace) -> AdapterReplyError:
        return AdapterReplyError(
            f"{place} answered {response.status} with more than {self._max_reply_bytes} bytes; "
            "raise max_reply_bytes if that is right",
            status=response.status,
        )

    def _refusal(self, response: aiohttp.ClientResponse, place: HttpPlace, content: bytes) -> AdapterError:
        error = refusal(place, response.status, response.headers, content, self._secrets, self._unauthorized)
        error.raw = content
        return error


_JSON = {"Content-Type": "application/json"}


def _encoded(json_body: Any, place: HttpPlace) -> bytes:
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
