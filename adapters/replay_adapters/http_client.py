"""
One HTTP exchange with a system: a request, its whole reply with the times of both, or a clear error.

Shared by the adapters that speak HTTP. A client keeps the connections of one system; it opens as many
as there are asks under way, follows no redirects, keeps no cookies (conversations must not meet in
them) and sets no deadline: the caller cancels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from time import perf_counter
from typing import Any

import aiohttp

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    WireTimes,
    __version__,
)
from replay_adapters.http_text import Secrets, excerpt, retry_after_s, shown_url

MEBIBYTE = 1024 * 1024
MAX_REPLY_BYTES = 16 * MEBIBYTE
REFUSAL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """A reply with status 2xx, read to its end."""

    place: str
    """Method and URL, fit to be shown."""
    status: int
    content_type: str
    body: bytes
    times: WireTimes
    secrets: Secrets

    def excerpt(self) -> str:
        """The body's beginning, fit to be shown."""
        return excerpt(self.body, self.secrets)

    def json(self) -> Any:
        """
        The body as a JSON value.

        Raises:
            AdapterReplyError: it is none. The content type isn't asked, since many servers get it wrong.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise AdapterReplyError(
                f"{self.place} answered {self.status} with {self.content_type or 'no content type'}, which "
                f"can't be read as JSON ({reason}): {self.excerpt()}; "
                "check that the address is that of the endpoint itself",
                status=self.status,
            ) from error


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
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> None:
        if self._session is not None:
            raise RuntimeError("this adapter is in use already; build one for each run")
        self._session = aiohttp.ClientSession(
            # Any number of connections: how many asks there are at a time is the engine's business.
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
        )

    async def __aexit__(self, *_: object) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def request(self, method: str, url: str, json_body: Any = None) -> HttpReply:
        """
        Send *json_body* (nothing if None) and wait for the whole reply.

        Raises:
            AdapterError: nothing came back, or no status 2xx, or too much.
        """
        if self._session is None:
            raise RuntimeError("enter the adapter (async with adapter) before its first session")
        place = f"{method} {shown_url(url)}"
        try:
            body = None if json_body is None else json.dumps(json_body).encode()
        except (TypeError, ValueError) as error:
            raise AdapterRefusedError(
                f"{place}: the body is not JSON ({error}); check its template", reached=False
            ) from error
        headers = {} if body is None else {"Content-Type": "application/json"}
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise AdapterRefusedError(
                f"{place}: an address can't hold credentials; use headers_env", reached=False
            )
        sent = perf_counter()
        try:
            async with self._session.request(
                method, url, data=body, headers=headers, allow_redirects=False
            ) as response:
                first_byte = perf_counter()
                content = await self._read(response, place)
                times = WireTimes(sent=sent, first_byte=first_byte, done=perf_counter())
                if not 200 <= response.status < 300:
                    raise self._refusal(response, place, content)
                return HttpReply(
                    place=place,
                    status=response.status,
                    content_type=response.headers.get("Content-Type", ""),
                    body=content,
                    times=times,
                    secrets=self._secrets,
                )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._broken(error, place) from error

    async def _read(self, response: aiohttp.ClientResponse, place: str) -> bytes:
        content = bytearray()
        async for chunk in response.content.iter_any():
            content += chunk
            if not response.ok and len(content) >= REFUSAL_BYTES:
                break  # enough for a message; the rest is not waited for
            # Counted as it comes, and after decompression, so that no reply can fill the memory.
            if len(content) > self._max_reply_bytes:
                raise AdapterReplyError(
                    f"{place} answered {response.status} with more than {self._max_reply_bytes} bytes; "
                    "raise max_reply_bytes if that is right",
                    status=response.status,
                )
        return bytes(content)

    def _refusal(self, response: aiohttp.ClientResponse, place: str, content: bytes) -> AdapterError:
        status = response.status
        wait_s = retry_after_s(response.headers, datetime.now(UTC))
        said = excerpt(content, self._secrets)
        message = f"{place} answered {status} {_phrase(status)}: {said}; {self._next_step(response)}"
        if status == 429:
            # Turned away at the door, so the question is in nobody's history.
            return AdapterRateLimitedError(
                message, retryable=True, reached=False, retry_after_s=wait_s, status=status
            )
        passing = status in (408, 409) or status >= 500
        return AdapterRefusedError(message, retryable=passing, retry_after_s=wait_s, status=status)

    def _next_step(self, response: aiohttp.ClientResponse) -> str:
        status = response.status
        if 300 <= status < 400:
            location = response.headers.get("Location")
            if not location:
                return "redirects are not followed; ask for the address behind it"
            return f"redirects are not followed: set the address to {shown_url(location)} if that is right"
        if status in (401, 403):
            return self._unauthorized
        if status in (404, 405):
            return "check the address, and the model's name if one is sent"
        if status == 429:
            return "ask less often, or fewer conversations at a time"
        if status >= 500:
            return "the fault is on the system's side; its log may say more"
        return "check what is sent: the system's own words are above"

    def _broken(self, error: Exception, place: str) -> AdapterError:
        """What *error* of the HTTP library means to us."""
        # A ClientResponseError spells out the URL, query and all.
        text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
        reason = self._secrets.hidden(text or type(error).__name__)
        match error:
            case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
                return AdapterRefusedError(f"{place}: not an http(s) URL; check its template", reached=False)
            case aiohttp.ClientConnectorCertificateError() | aiohttp.ServerFingerprintMismatch():
                return AdapterConnectionError(
                    f"{place}: the server's certificate is not trusted ({reason}); "
                    "check the host's name, or set SSL_CERT_FILE to the certificates to trust",
                    reached=False,
                )
            case aiohttp.ClientConnectorDNSError():
                message = f"{place}: the host's name can't be resolved ({reason}); check the address"
                return AdapterConnectionError(message, retryable=True, reached=False)
            case aiohttp.ClientConnectorError():
                message = f"{place}: no connection ({reason}); check that the server runs there"
                return AdapterConnectionError(message, retryable=True, reached=False)
            case aiohttp.ClientResponseError():
                return AdapterReplyError(f"{place}: the reply is not HTTP ({reason}); check host and port")
            case aiohttp.ClientPayloadError() if isinstance(
                error.__cause__, aiohttp.http_exceptions.ContentEncodingError
            ):
                return AdapterReplyError(f"{place}: the reply can't be decompressed ({reason})")
            case ValueError():
                return AdapterRefusedError(f"{place}: can't be sent ({reason})", reached=False)
        return AdapterConnectionError(
            f"{place}: the connection broke before the reply was complete ({reason}); "
            "the system's log may say why",
            retryable=True,
        )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(a status of its own)"
