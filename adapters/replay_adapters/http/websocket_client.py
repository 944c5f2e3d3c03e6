"""
WebSocket connections to one system: opened, spoken over frame by frame, closed, or a clear error; and the
answer that comes in several frames, put together as they come.

Close codes mean what RFC 6455 (section 7.4.1) and the IANA registry of WebSocket close codes say. As over
HTTP, no redirect is followed, no cookie is kept and no deadline is set: the caller cancels.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import aiohttp

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    Passage,
    WireTimes,
)
from replay_adapters.chat.streamed_answer import token_gaps_100us
from replay_adapters.http.client import sent_headers
from replay_adapters.http.connections import Incoming, new_session
from replay_adapters.http.failures import library_error, next_step, status_error
from replay_adapters.http.reply import ReceivedText, Secrets, retry_after_s, shown_url
from replay_adapters.json_reply import ReplyPath, spelt_out
from replay_adapters.setting_checks import check_count, check_seconds

MAX_FRAME_BYTES = 4 * 1024 * 1024

NORMAL_CLOSURE = 1000
_CLOSING_S = 0.5
"""How long the other side may take to answer our goodbye."""
_FRAMES_AHEAD = 16
"""So many frames are read before they are asked for; then the other side has to wait."""
_REFUSALS = frozenset({1002, 1003, 1007, 1008, 1009, 1010, 3000, 3003})
"""Codes that say that what we sent, or who we are, is not wanted."""
_THEIR_FAULTS = frozenset({1011, 1013})
"""An error of the server's, or too much to do: as the HTTP statuses 500 and 503."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedFrame:
    """The connection's end."""

    place: str
    code: int | None
    """None where the connection broke, or the server gave no code."""
    said: str
    """The server's reason, or ours; fit to be shown."""

    def error(self, *, partial: str = "", asked: bool = True) -> AdapterError:
        """
        Return the error for a connection that ended now.

        Args:
            partial: The part of the answer that had come.
            asked: Whether the question was sent.
        """
        how = f"with code {self.code}" if self.code else "without saying why"
        ended = f"{self.place}: the connection was closed {how}" + (f" ({self.said})" if self.said else "")
        if partial:
            return AdapterCutOffError(
                f"{ended} before the answer was complete: {len(partial)} characters had come; "
                "the system's log may say why",
                partial=partial,
            )
        when = "before an answer came" if asked else "before the question was sent"
        if self.code in _THEIR_FAULTS:
            step = "the fault is on the system's side; its log may say more"
            return AdapterRefusedError(f"{ended} {when}; {step}", retryable=True, reached=asked)
        if self.code in _REFUSALS or 4000 <= (self.code or 0) < 5000:
            step = "check what is sent, and the key it wants: the code's meaning is the system's"
            return AdapterRefusedError(f"{ended} {when}; {step}", reached=asked)
        step = "the system's log may say why"
        return AdapterConnectionError(f"{ended} {when}; {step}", retryable=True, reached=asked)


class Socket:
    """
    One open connection.

    A task of its own reads it, so that pings are answered between two questions too.
    """

    def __init__(
        self, response: aiohttp.ClientWebSocketResponse, place: str, secrets: Secrets, max_frame_bytes: int
    ) -> None:
        self.place = place
        self._response = response
        self._secrets = secrets
        self._max_frame_bytes = max_frame_bytes
        self._received: asyncio.Queue[ReceivedText | ClosedFrame | AdapterReplyError] = asyncio.Queue(
            _FRAMES_AHEAD
        )
        self._reading = asyncio.create_task(self._read_on())

    async def send(self, text: str) -> None:
        """
        Send a text frame.

        Raises:
            AdapterConnectionError: the connection is closed.
        """
        try:
            await self._response.send_str(text)
        except (aiohttp.ClientError, OSError) as error:
            raise AdapterConnectionError(
                f"{self.place}: the connection was closed before the question was sent; "
                "the system's log may say why",
                retryable=True,
                reached=False,
            ) from error

    async def receive(self) -> ReceivedText | ClosedFrame:
        """
        Return the next frame, or the connection's end, after which there is nothing to be received.

        Raises:
            AdapterReplyError: what came is too large, no text, or no WebSocket frame.
        """
        return _frame_or_raise(await self._received.get())

    async def receive_now(self) -> ReceivedText | ClosedFrame | None:
        """Return the next frame or the end, as ``receive``, but None if none has come yet."""
        if self._received.empty():
            await Incoming(self._response.get_extra_info("socket")).taken_in()
        return None if self._received.empty() else _frame_or_raise(self._received.get_nowait())

    async def close(self) -> None:
        """Say goodbye and close; soon, even where the other side doesn't answer."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        # The library's own limit starts again with every frame that still comes, and they may never end.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                await self._response.close()

    async def _read_on(self) -> None:
        while True:
            received = self._from_message(await self._response.receive(), perf_counter())
            await self._received.put(received)
            if not isinstance(received, ReceivedText):
                return

    def _from_message(
        self, message: aiohttp.WSMessage, at: float
    ) -> ReceivedText | ClosedFrame | AdapterReplyError:
        match message.type:
            case aiohttp.WSMsgType.TEXT:
                content = message.data.encode("utf-8", "replace")
                return ReceivedText(place=self.place, content=content, at=at, secrets=self._secrets)
            case aiohttp.WSMsgType.BINARY:
                try:
                    message.data.decode()
                except UnicodeDecodeError as error:
                    return AdapterReplyError(
                        f"{self.place} sent {len(message.data)} bytes that are no text ({error}); "
                        "audio and pictures can't be read"
                    )
                return ReceivedText(place=self.place, content=message.data, at=at, secrets=self._secrets)
            case aiohttp.WSMsgType.CLOSE:
                # A reason has 123 bytes at most, which may end in the middle of a key.
                said = self._secrets.redact(" ".join(str(message.extra or "").split()), cut=True)
                return ClosedFrame(place=self.place, code=message.data or None, said=said)
            case aiohttp.WSMsgType.ERROR if isinstance(message.data, aiohttp.WebSocketError):
                if message.data.code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG:
                    return AdapterReplyError(
                        f"{self.place} sent a frame of more than {self._max_frame_bytes} bytes; "
                        "raise max_frame_bytes if that is right"
                    )
                return AdapterReplyError(
                    f"{self.place} sent what is no WebSocket frame ({message.data}); check the address"
                )
        said = "no answer to a ping" if isinstance(message.data, TimeoutError) else ""
        return ClosedFrame(place=self.place, code=None, said=said)


def _frame_or_raise(received: ReceivedText | ClosedFrame | AdapterReplyError) -> ReceivedText | ClosedFrame:
    if isinstance(received, AdapterReplyError):
        raise received
    return received


class WebSocketClient:
    """Opens connections to one system; an async context manager."""

    def __init__(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        ping_s: float | None = None,
        unauthorized: str = "check the key it wants",
    ) -> None:
        """
        *unauthorized* is the next step after a 401 or 403, for the message.

        Raises:
            ValueError: a header can't be sent, or a number isn't positive.
        """
        check_count("max_frame_bytes", max_frame_bytes)
        check_seconds("ping_s", ping_s)
        self._headers = sent_headers(headers)
        self.secrets: Secrets = Secrets(self._headers)
        self._max_frame_bytes = max_frame_bytes
        self._ping_s = ping_s
        self._unauthorized = unauthorized
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> None:
        if self._session is not None:
            raise RuntimeError("this adapter is in use already; build one for each run")
        redirects = aiohttp.TraceConfig()
        redirects.on_request_redirect.append(_not_followed)
        self._session = new_session(self._headers, aiohttp.TCPConnector(limit=0), [redirects])

    async def __aexit__(self, *_: object) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def connect(self, url: str, headers: Mapping[str, str] | None = None) -> Socket:
        """
        Return a connection to *url*, opened with *headers* beside those of all.

        Raises:
            AdapterError: there is none to be had. Nothing has been asked then.
        """
        if self._session is None:
            raise RuntimeError("enter the adapter (async with adapter) before its first session")
        place = shown_url(url)
        try:
            response = await self._session.ws_connect(
                url,
                headers=headers,
                timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSING_S),
                heartbeat=self._ping_s,
                max_msg_size=self._max_frame_bytes,
            )
        except aiohttp.WSServerHandshakeError as error:
            # From None, since it spells out the address, keys and all.
            raise _mark_unasked(self._refusal(error, place)) from None
        except _RedirectedError as error:
            step = f"redirects are not followed: set the url to {error} if that is right"
            raise _mark_unasked(AdapterRefusedError(f"{place}: {step}")) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _mark_unasked(library_error(error, f"GET {place}", self.secrets)) from error
        return Socket(response, place, self.secrets, self._max_frame_bytes)

    def _refusal(self, error: aiohttp.WSServerHandshakeError, place: str) -> AdapterError:
        status = error.status
        message = f"{place} answered {status} instead of opening a WebSocket"
        if status < 400:
            step = "check that the url is that of the WebSocket endpoint itself"
            return AdapterReplyError(f"{message} ({error.message}); {step}", status=status)
        step = "check the url, and what its server wants to be sent"
        if status in (401, 403, 429) or status >= 500:
            step = next_step(status, {}, self._unauthorized)
        wait_s = retry_after_s(error.headers or {}, datetime.now(UTC))
        return status_error(status, f"{message}; {step}", wait_s)


def _mark_unasked(error: AdapterError) -> AdapterError:
    """Return *error* of an ask whose question was not sent yet."""
    error.reached = False
    return error


class _RedirectedError(Exception):
    """The server sent us on; the message is where to, fit to be shown."""


async def _not_followed(
    _session: object, _context: object, redirect: aiohttp.TraceRequestRedirectParams
) -> None:
    # The library has no setting for it here, and would send headers with keys to another path or port.
    raise _RedirectedError(
        shown_url(redirect.response.headers.get("Location", "")) or "the address behind it"
    )


@dataclass(slots=True, kw_only=True)
class AnswerBuilder:
    """What came of an answer so far."""

    paths: Mapping[str, ReplyPath]
    """By setting."""
    frames: int | None
    """So many with a piece complete it."""
    is_joined: bool
    """All pieces together are the answer; else the last one is."""
    max_reply_bytes: int
    pieces: list[str] = field(default_factory=list)
    complete: bool = False
    last: ReceivedText | None = None
    _size: int = 0
    _passages: tuple[Passage, ...] = ()
    _values: list[Any] = field(default_factory=list)
    _first_byte: float | None = None
    _moments: list[float] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The pieces together."""
        return "".join(self.pieces if self.is_joined else self.pieces[-1:])

    def add(self, frame: ReceivedText, value: Any) -> None:
        """
        Take what is the answer's in *frame*, whose value is *value*.

        Raises:
            AdapterReplyError: it is of another shape than the paths were made for, or too much.
        """
        most, frames, paths = self.max_reply_bytes, self.frames, self.paths
        self.last = frame
        self._first_byte = self._first_byte or frame.at
        self._size += len(frame.content)
        if self._size > most:
            raise AdapterReplyError(
                f"{frame.place} sent more than {most} bytes for one answer; "
                "check its end (until, frames, quiet_s), or raise max_reply_bytes if that is right"
            )
        self._values.append(value)
        self._passages = paths["passages"].passages(frame, value) or self._passages
        if paths["answer"].holds(frame, value):
            piece = spelt_out(paths["answer"].find(frame, value))
            if piece is None:
                raise paths["answer"].unusable(frame, "gives no text")
            self.pieces.append(piece)
            self._moments.append(frame.at)
        enough = frames is not None and len(self.pieces) >= frames
        self.complete = paths["until"].holds(frame, value) or enough

    def reply(self, sent: float, place: str) -> ChatReply:
        """
        Return the whole answer.

        Raises:
            AdapterReplyError: it is empty.
        """
        if not self.text.strip():
            shown = self.last.excerpt() if self.last else "nothing"
            raise AdapterReplyError(
                f'{place} completed its answer, but answer "{self.paths["answer"].expression}" gave '
                f"no text in any frame; the last one: {shown}; check the path against it"
            )
        in_pieces = self.frames != 1 and self.is_joined
        times = WireTimes(
            sent=sent,
            # Waiting for more that never came is ours, so it is no part of the system's latency.
            done=self.last.at if self.last else sent,
            first_byte=self._first_byte,
            first_token=self._moments[0] if in_pieces else None,
            token_gaps_100us=token_gaps_100us(self._moments) if in_pieces else (),
        )
        assert self.last is not None
        steps = self.paths["steps"].steps(self.last, self._values)
        return ChatReply(text=self.text, passages=self._passages, steps=steps, times=times)
