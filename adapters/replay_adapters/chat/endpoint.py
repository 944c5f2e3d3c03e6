"""
An endpoint that is sent the whole conversation as messages: what such adapters have in common.

How messages, fields and replies look is the business of what is spoken there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from msgspec.structs import replace

from replay import AdapterError, ChatReply, ChatRequest, Conversation
from replay_adapters.chat.body import ChatBodies, ChatBody
from replay_adapters.chat.fields import RequestFields
from replay_adapters.http.client import HttpClient
from replay_adapters.http.reply import HttpReply, StreamedReply
from replay_adapters.json_reply import ReplyPath


class ChatApi(Protocol):
    """One kind of chat API."""

    @property
    def path(self) -> str:
        """Where it is, behind the base address."""
        ...

    @property
    def messages(self) -> str:
        """The field with the messages."""
        ...

    @property
    def mark(self) -> bytes:
        """What reads have in them that may bring the end of a stream."""
        ...

    @property
    def ended(self) -> Callable[[Sequence[bytes]], bool] | None:
        """Whether reads hold the last event of a stream; None where the server ends it after that."""
        ...

    def fields(
        self, system: str, extra: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The body's fields; messages among them are those before the history."""
        ...

    def read(self, reply: HttpReply, passages: ReplyPath | None) -> ChatReply:
        """
        The answer in *reply*.

        Raises:
            AdapterError: there is none.
        """
        ...

    def read_stream(self, reply: StreamedReply, passages: ReplyPath | None) -> ChatReply:
        """
        The answer in the events of *reply*.

        Raises:
            AdapterCutOffError: it is not complete.
            AdapterError: there is none.
        """
        ...


class ChatEndpoint:
    """A system that speaks one of them; an async context manager."""

    def __init__(
        self,
        client: HttpClient,
        base_url: str,
        spoken: ChatApi,
        rendered: RequestFields,
        *,
        stream: bool,
        passages: ReplyPath | None,
    ) -> None:
        parts = urlsplit(base_url)
        # Azure has its version in a query, which stays at the end.
        self._url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + spoken.path))
        self._client = client
        self._spoken = spoken
        self._bodies = ChatBodies(rendered, spoken.fields, spoken.messages)
        self._stream = stream
        self._passages = passages

    async def __aenter__(self) -> None:
        await self._client.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[ChatSession]:
        """One conversation."""
        yield ChatSession(self, ChatBody(self._bodies, conversation))

    async def send(self, body: bytes, *, keep_raw: bool) -> ChatReply:
        """
        What is answered to *body*; with *keep_raw* also as it came.

        Raises:
            AdapterError: no answer came.
        """
        spoken = self._spoken
        reply: HttpReply | StreamedReply
        if self._stream:
            reply = await self._client.stream(
                "POST", self._url, body=body, mark=spoken.mark, ended=spoken.ended
            )
        else:
            reply = await self._client.request("POST", self._url, body=body)
        try:
            found = self._read(reply)
        except AdapterError as error:
            error.raw = reply.raw
            raise
        return replace(found, raw=reply.raw) if keep_raw else found

    def _read(self, reply: HttpReply | StreamedReply) -> ChatReply:
        if isinstance(reply, HttpReply):
            return self._spoken.read(reply, self._passages)
        if reply.broken is None and reply.reads and reply.reads[0].lstrip()[:1] == b"{":
            return self._spoken.read(reply.whole(), self._passages)  # asked to stream, it didn't
        return self._spoken.read_stream(reply, self._passages)


class ChatSession:
    """One conversation; the server remembers nothing of it."""

    __slots__ = ("_body", "_endpoint")

    def __init__(self, endpoint: ChatEndpoint, body: ChatBody) -> None:
        self._endpoint = endpoint
        self._body = body

    async def ask(self, request: ChatRequest) -> ChatReply:
        return await self._endpoint.send(self._body.of(request), keep_raw=request.keep_raw)
