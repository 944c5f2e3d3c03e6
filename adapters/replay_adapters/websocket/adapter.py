"""
Any endpoint that chats over a WebSocket, by configuration alone.

A template says what is sent, JMESPaths say where in a received frame the answer stands and when it is
complete. Where the caller keeps the history each ask has a connection of its own; where the system keeps
it a conversation has one, and what the system remembers may end with it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import urlsplit
from uuid import uuid4

from replay import (
    AdapterRefusedError,
    AdapterReplyError,
    Conversation,
    HistoryKeeper,
    Template,
    TextTemplate,
)
from replay_adapters.http.client import MAX_REPLY_BYTES
from replay_adapters.http.redaction import shown_url
from replay_adapters.json_reply import ReplyPath
from replay_adapters.setting_checks import check_variables, headers_from_environment
from replay_adapters.websocket.client import MAX_FRAME_BYTES, Frame, WebSocketClient
from replay_adapters.websocket.session import WebSocketSession


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketAdapter:
    """A WebSocket endpoint."""

    url: str
    """Template, as in ``ws://localhost:8080/chat``."""
    send: Any
    """Template of the frame with a question: a JSON value, or a text where ``format`` is ``text``."""
    format: Literal["json", "text"] = "json"
    """What frames hold. To the paths below a text frame is a JSON text."""
    answer: str | None = None
    """JMESPath of the answer, or of a piece of it, in a frame. Frames without any are passed over. May be
    left out for text frames, which are then pieces as a whole."""
    until: str | None = None
    """JMESPath that holds on the frame that completes an answer, as in ``type == 'done'``."""
    frames: int | None = None
    """So many frames with a piece complete an answer; 1 where no other end is set."""
    quiet_s: float | None = None
    """An answer is complete when nothing came for so long after one of its pieces."""
    closes_when_done: bool = False
    """The system closes the connection, with code 1000, when an answer is complete."""
    join: Literal["concatenate", "last"] = "concatenate"
    """``last``: each piece holds all of the answer so far."""
    on_open: tuple[Any, ...] = ()
    """Templates of frames sent when a connection was opened."""
    greeting: int | str = 0
    """Frames to wait for before the first question of a connection: how many, or a JMESPath that holds on
    the last of them."""
    error: str | None = None
    """JMESPath of the reason in a frame that says that the system failed."""
    passages: str | None = None
    """JMESPath of the passages the system used: texts, or objects with id, text or title."""
    session_id: str | None = None
    """JMESPath of the session's id in a frame. With it the system keeps the history."""
    history: HistoryKeeper = "client"
    """``server`` without ``session_id``: each session gets an id from us, for the templates to send."""
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret: the environment variable that holds the value, or a text such as
    ``Bearer ${TOKEN}``."""
    ping_s: float | None = None
    """How often the system is pinged; a connection without an answer to it is given up."""
    max_frame_bytes: int = MAX_FRAME_BYTES
    max_reply_bytes: int = MAX_REPLY_BYTES
    """All frames of one answer together."""

    client: WebSocketClient = field(init=False, repr=False, compare=False)
    address: TextTemplate = field(init=False, repr=False, compare=False)
    question_frame: Template = field(init=False, repr=False, compare=False)
    opening_frames: Template = field(init=False, repr=False, compare=False)
    paths: Mapping[str, ReplyPath] = field(init=False, repr=False, compare=False)
    """Compiled, by setting; those that were left out are not in it."""

    def __post_init__(self) -> None:
        _check_url(self.url)
        for name in ("url", "send", "on_open"):
            check_variables(getattr(self, name), name)
        self._check_numbers()
        if self.session_id is not None:
            object.__setattr__(self, "history", "server")
        ends = (self.until, self.frames, self.quiet_s)
        if all(end is None for end in ends) and not self.closes_when_done:
            object.__setattr__(self, "frames", 1)
        if self.closes_when_done and self.history == "server" and not self.resumes:
            raise ValueError(
                "closes_when_done: a system that keeps the history over one connection can't close it after "
                "an answer; send {{session_id}} in url, on_open or send, or set history: client"
            )
        if self.answer is None:
            if self.format == "json":
                raise ValueError("answer: JSON frames need a JMESPath of the answer, such as reply.text")
            object.__setattr__(self, "answer", "@")
        if self.format == "text" and not all(isinstance(text, str) for text in (self.send, *self.on_open)):
            raise ValueError('send, on_open: text frames are texts; set "format: json" to send JSON values')
        variables = ", ".join(self.headers_env.values()) or "headers_env"
        client = WebSocketClient(
            headers={**self.headers, **headers_from_environment(self.headers_env)},
            max_frame_bytes=self.max_frame_bytes,
            ping_s=self.ping_s,
            unauthorized=f"check the key it wants (set by {variables})",
        )
        named = ("answer", "until", "greeting", "error", "passages", "session_id")
        paths = {name: text for name in named if isinstance(text := getattr(self, name), str)}
        object.__setattr__(self, "client", client)
        object.__setattr__(self, "address", TextTemplate(self.url))
        object.__setattr__(self, "question_frame", Template(self.send))
        object.__setattr__(self, "opening_frames", Template(list(self.on_open)))
        object.__setattr__(self, "paths", {name: ReplyPath(text, name) for name, text in paths.items()})

    def _check_numbers(self) -> None:
        for name in ("frames", "max_reply_bytes"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{name} {number} is not a positive whole number")
        if self.quiet_s is not None and not self.quiet_s > 0:
            raise ValueError(f"quiet_s {self.quiet_s:g} is not a positive number of seconds")
        if isinstance(self.greeting, int) and self.greeting < 0:
            raise ValueError(f"greeting {self.greeting} is no number of frames, nor a JMESPath")

    @property
    def resumes(self) -> bool:
        """Whether a new connection can go on with a session: the system is told the session's id."""
        return self.history == "server" and "session_id" in repr((self.url, self.on_open, self.send))

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.__aexit__()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[WebSocketSession]:
        # A fresh id, not the conversation's: several policies play the same conversation at a time.
        ours = uuid4().hex if self.history == "server" and self.session_id is None else None
        session = WebSocketSession(self, conversation, ours)
        try:
            yield session
        finally:
            await session.close()

    def text_of(self, value: Any) -> str:
        """
        *value*, a rendered template, as a frame's text.

        Raises:
            AdapterRefusedError: it can't be one.
        """
        if self.format == "text":
            return value if isinstance(value, str) else str(value)
        try:
            return json.dumps(value)
        except (TypeError, ValueError) as error:
            raise AdapterRefusedError(
                f"{shown_url(self.url)}: the frame is not JSON ({error}); check its template", reached=False
            ) from error

    def value_in(self, frame: Frame) -> Any:
        """
        The JSON value in *frame*.

        Raises:
            AdapterReplyError: there is none.
        """
        if self.format == "text":
            return frame.text
        try:
            return json.loads(frame.text)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise AdapterReplyError(
                f"{frame.place} sent a frame that can't be read as JSON ({reason}): {frame.excerpt()}; "
                'set "format: text" if its frames are plain texts'
            ) from error


def _check_url(url: str) -> None:
    try:
        scheme, host = url.partition("://")[0], urlsplit(url.partition("{{")[0]).netloc
    except ValueError as error:
        raise ValueError(f"url is not a URL: {error}") from error
    templated = "{{" in url.partition("://")[2].partition("/")[0]
    if scheme not in ("ws", "wss") or not (host or templated):
        raise ValueError(f'url "{url}" is not an address like ws://localhost:8080/chat')
    if "@" in host:
        raise ValueError("url holds credentials; keys are read from environment variables")
