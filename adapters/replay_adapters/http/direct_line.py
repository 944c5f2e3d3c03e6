"""
One conversation over Direct Line 3.0: started, posted to, listened to by polling or over its stream.

As Microsoft's reference has it (https://learn.microsoft.com/azure/bot-service/rest-api/, "Direct Line API
3.0"). A conversation is reached with the secret, or with a token of its own that is refreshed in time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from replay import AdapterError, AdapterReplyError
from replay_adapters.http.client import HttpClient
from replay_adapters.http.oauth2 import bearer_token, lifetime_s
from replay_adapters.http.reply import HttpReply, ReceivedText, decode_json
from replay_adapters.http.websocket_client import ClosedFrame, Socket, WebSocketClient
from replay_adapters.json_reply import list_under

SERVICE = "check that base_url is that of a Direct Line 3.0 service"
RECONNECTS = 3
"""So often a broken stream is opened again within one ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the bot, or anybody in the conversation, sent."""

    value: Mapping[str, Any]
    at: float
    """When it was there, by ``time.perf_counter``."""

    def text_at(self, name: str) -> str:
        """Return the text of a field; empty if there is none."""
        found = self.value.get(name)
        return found if isinstance(found, str) else ""


@dataclass(kw_only=True)
class DirectLine:
    """One conversation."""

    base: str
    """The service's address, to which paths are added."""
    user: str
    with_secret: HttpClient
    own_client: Callable[[str], HttpClient] | None
    """Makes a client from a token; None goes on with the secret."""
    stream: WebSocketClient | None
    """Without it activities are polled for."""
    poll_s: float
    clock: Callable[[], float] = time.monotonic
    """Gives seconds, for a token's age."""

    def __post_init__(self) -> None:
        self._own: HttpClient | None = None
        self._token_from = 0.0
        self._token_s: float | None = None  # how long the token lasts; None if it doesn't say
        self._id: str | None = None
        self._watermark: str | None = None
        self._seen: set[str] = set()
        self._socket: Socket | None = None
        self._reconnects = RECONNECTS

    @property
    def place(self) -> str:
        """Return the conversation's address, without secrets."""
        return f"{self.base}/conversations/{self._id}"

    async def start(self) -> None:
        """
        Open the conversation, once.

        Raises:
            AdapterError: it can't be; nothing has been asked then.
        """
        if self._id is not None:
            return
        try:
            if self.own_client is not None and self._own is None:
                generated = await self.with_secret.request(
                    "POST", f"{self.base}/tokens/generate", {"user": {"id": self.user}}
                )
                await self._take_token(generated, _object(generated))
            reply = await self._client().request("POST", f"{self.base}/conversations", {})
            value = _object(reply)
            conversation = _text(reply, value, "conversationId")
            if self.stream is not None:
                self._socket = await self.stream.connect(_stream_url(reply, value))
            self._id = conversation
        except AdapterError as error:
            error.reached = False
            raise

    async def close(self) -> None:
        """Close what is open; the bot is not told."""
        socket, self._socket = self._socket, None
        own, self._own = self._own, None
        try:
            if socket is not None:
                await socket.close()
        finally:
            if own is not None:
                await own.__aexit__()

    async def post(self, activity: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> str:
        """
        Send *activity* from our user; its id.

        Raises:
            AdapterError: it was not taken.
        """
        await self._keep_token()
        self._reconnects = RECONNECTS
        sent = {**activity, "from": {"id": self.user}}
        reply = await self._client().request(
            "POST", f"{self._path()}/activities", sent, headers=headers, once=True
        )
        return _text(reply, _object(reply), "id")

    async def more(self) -> list[Activity]:
        """
        Wait for new activities, at least one, ours included, and return them.

        Raises:
            AdapterError: the connection broke, or something else than activities came.
        """
        while True:
            activities = await (self._read_stream() if self.stream else self._poll())
            if activities:
                return activities
            if self.stream is None:
                await asyncio.sleep(self.poll_s)

    async def skip(self) -> None:
        """Leave out what was sent so far."""
        if self.stream is None:
            while await self._poll():
                pass
        elif self._socket is not None:
            while isinstance(received := await self._socket.receive_now(), ReceivedText):
                self._new(_set_in(received), received.at)
            if received is not None:
                await self._reconnect()

    def is_ours(self, activity: Activity) -> bool:
        """Return whether we sent it; what was sent before it stands before it."""
        sender = activity.value.get("from")
        return isinstance(sender, Mapping) and sender.get("id") == self.user

    async def _poll(self) -> list[Activity]:
        await self._keep_token()
        reply = await self._client().request("GET", f"{self._path()}/activities{self._since()}")
        return self._new(_object(reply), reply.times.done)

    async def _read_stream(self) -> list[Activity]:
        if self._socket is None:
            await self._reconnect()
        assert self._socket is not None
        received = await self._socket.receive()
        if isinstance(received, ClosedFrame):
            # The service closes streams now and then; the watermark says where to go on.
            if not self._reconnects:
                raise received.error()
            self._reconnects -= 1
            await self._reconnect()
            return []
        return self._new(_set_in(received), received.at)

    async def _reconnect(self) -> None:
        assert self.stream is not None
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
        await self._keep_token()
        reply = await self._client().request("GET", self._path() + self._since())
        self._socket = await self.stream.connect(_stream_url(reply, _object(reply)))

    def _new(self, activity_set: Mapping[str, Any], at: float) -> list[Activity]:
        """Return the activities in a set that are new."""
        watermark = activity_set.get("watermark")
        if isinstance(watermark, str | int) and str(watermark):
            self._watermark = str(watermark)
        new = []
        for value in list_under(activity_set, "activities"):
            if not isinstance(value, Mapping):
                continue
            activity = Activity(value=value, at=at)
            id = activity.text_at("id")
            if id and id in self._seen:
                continue
            self._seen.add(id)
            new.append(activity)
        return new

    def _path(self) -> str:
        assert self._id is not None
        return f"{self.base}/conversations/{_quote_part(self._id)}"

    def _since(self) -> str:
        return f"?watermark={_quote_part(self._watermark)}" if self._watermark else ""

    def _client(self) -> HttpClient:
        return self._own or self.with_secret

    async def _keep_token(self) -> None:
        """Have a token that lasts: a fresh one when half of its time is over."""
        if self._own is None or self._token_s is None:
            return
        age_s = self.clock() - self._token_from
        if age_s < self._token_s / 2:
            return
        if age_s < self._token_s:
            reply = await self._own.request("POST", f"{self.base}/tokens/refresh")
        else:  # it can't be refreshed any more, but the secret still opens the conversation
            reply = await self.with_secret.request("GET", self._path())
        await self._take_token(reply, _object(reply))

    async def _take_token(self, reply: HttpReply, value: Mapping[str, Any]) -> None:
        assert self.own_client is not None
        token = bearer_token(reply, value, "token", SERVICE)
        old, self._own = self._own, self.own_client(token)
        await self._own.__aenter__()
        self._token_from = self.clock()
        self._token_s = lifetime_s(value.get("expires_in"))
        if old is not None:
            await old.__aexit__()


def said_nothing(activities: Sequence[Activity]) -> str:
    """Return the kinds of *activities* that hold no text, and of their attachments, for a message."""
    kinds = [activity.text_at("type") or "?" for activity in activities]
    attached = [
        str(attachment.get("contentType"))
        for activity in activities
        for attachment in list_under(activity.value, "attachments")
        if isinstance(attachment, Mapping)
    ]
    return ", ".join(dict.fromkeys(kinds + attached))


def _quote_part(text: str) -> str:
    """Return *text* of the service's, which may be any, as a part of an address."""
    return quote(text, safe="", errors="surrogatepass")


def _object(reply: HttpReply) -> Mapping[str, Any]:
    value = reply.json()
    if not isinstance(value, Mapping):
        raise reply.unusable(
            ", but not with a JSON object", "check that base_url is that of a Direct Line service"
        )
    return value


def _text(reply: HttpReply, value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found:
        raise AdapterReplyError(
            f'{reply.place} answered {reply.status} without "{name}"; {SERVICE}', status=reply.status
        )
    return found


def _stream_url(reply: HttpReply, value: Mapping[str, Any]) -> str:
    if not value.get("streamUrl"):
        raise AdapterReplyError(
            f"{reply.place} answered {reply.status} without a stream; set receive: poll", status=reply.status
        )
    return _text(reply, value, "streamUrl")


def _set_in(frame: ReceivedText) -> Mapping[str, Any]:
    """Return the activity set in *frame*; an empty frame, sent as a keep-alive, is an empty set."""
    if not frame.content.strip():
        return {}
    try:
        value = decode_json(frame.content)
    except ValueError as error:
        raise AdapterReplyError(f"{frame.place} sent no JSON over its stream: {frame.excerpt()}") from error
    return value if isinstance(value, Mapping) else {}
