"""
Any endpoint that chats over a WebSocket, by configuration alone.

A template says what is sent, JMESPaths say where in a received frame the answer stands and when it is
complete. Where the caller keeps the history each ask has a connection of its own; where the system keeps
it a conversation has one, and what the system remembers may end with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import urlsplit
from uuid import uuid4

from replay import Conversation, HistoryKeeper, Template, TextTemplate
from replay_adapters.http.client import MAX_REPLY_BYTES
from replay_adapters.http.redaction import shown_url
from replay_adapters.json_reply import ReplyPath
from replay_adapters.setting_checks import (
    check_count,
    check_seconds,
    check_variables,
    filled_address,
    headers_from_environment,
    unsent_system_prompts,
    uses_seed,
)
from replay_adapters.websocket.client import MAX_FRAME_BYTES, WebSocketClient
from replay_adapters.websocket.frame_format import FrameFormat
from replay_adapters.websocket.session import WebSocketSession


@dataclass(kw_only=True)
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
    steps: str | None = None
    """JMESPath of the tools that the system says it called before it answered: messages of Chat Completions,
    or objects with name, arguments and perhaps result."""
    session_id: str | None = None
    """JMESPath of the session's id in a frame. With it the system keeps the history."""
    history: HistoryKeeper = "client"
    """Without ``session_id`` each session gets an id from us, for the templates to send."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the opening request, as they are."""
    headers_env: Mapping[str, str] = field(default_factory=dict)
    """Headers with a secret: the environment variable that holds the value, or a text such as
    ``Bearer ${TOKEN}``."""
    ping_s: float | None = None
    """How often the system is pinged; a connection without an answer to it is given up."""
    max_frame_bytes: int = MAX_FRAME_BYTES
    """The largest frame that is read."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """All frames of one answer together."""

    def __post_init__(self) -> None:
        _check_url(self.url)
        for name in ("url", "send", "on_open"):
            check_variables(getattr(self, name), name)
        for name in ("frames", "max_reply_bytes"):
            check_count(name, getattr(self, name))
        check_seconds("quiet_s", self.quiet_s)
        greetings = self.greeting if isinstance(self.greeting, int) else 1
        if greetings < 0:
            raise ValueError(f"greeting {self.greeting} is no number of frames, nor a JMESPath")
        if self.session_id is not None:
            self.history = "server"
        if self.until is None and self.frames is None and self.quiet_s is None and not self.closes_when_done:
            self.frames = 1
        resumes = self.history == "server" and "session_id" in repr((self.url, self.on_open, self.send))
        if self.closes_when_done and self.history == "server" and not resumes:
            raise ValueError(
                "closes_when_done: a system that keeps the history over one connection can't close it after "
                "an answer; send {{session_id}} in url, on_open or send, or set history: client"
            )
        if self.answer is None and self.format == "json":
            raise ValueError("answer: JSON frames need a JMESPath of the answer, such as reply.text")
        if self.format == "text" and not all(isinstance(text, str) for text in (self.send, *self.on_open)):
            raise ValueError('send, on_open: text frames are texts; set "format: json" to send JSON values')
        variables = ", ".join(self.headers_env.values()) or "headers_env"
        self._client = WebSocketClient(
            headers={**self.headers, **headers_from_environment(self.headers_env)},
            max_frame_bytes=self.max_frame_bytes,
            ping_s=self.ping_s,
            unauthorized=f"check the key it wants (set by {variables})",
        )
        paths = {
            "answer": "@" if self.answer is None else self.answer,
            "until": self.until,
            "greeting": self.greeting if isinstance(self.greeting, str) else None,
            "error": self.error,
            "passages": self.passages,
            "steps": self.steps,
            "session_id": self.session_id,
        }
        self._format = FrameFormat(
            place=shown_url(self.url),
            url=TextTemplate(filled_address(self.url, "url")),
            on_open=Template(list(self.on_open)),
            send=Template(self.send),
            format=self.format,
            paths={name: ReplyPath(path, name) for name, path in paths.items()},
            frames=self.frames,
            quiet_s=self.quiet_s,
            closes_when_done=self.closes_when_done,
            join=self.join,
            greetings=greetings,
            history=self.history,
            resumes=resumes,
            max_reply_bytes=self.max_reply_bytes,
        )

    @property
    def unsent_system_prompts(self) -> str | None:
        return unsent_system_prompts(self.send, self.on_open, where="send")

    @property
    def takes_seed(self) -> bool:
        """Return whether a template sends the seed."""
        return uses_seed(self.send)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[WebSocketSession]:
        # A fresh id, not the conversation's: several policies play the same conversation at a time.
        ours = str(uuid4()) if self.session_id is None else None
        session = WebSocketSession(self._client, self._format, conversation, ours)
        try:
            yield session
        finally:
            await session.finish()


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
