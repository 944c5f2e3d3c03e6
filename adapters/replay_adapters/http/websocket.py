"""
Any endpoint that chats over a WebSocket, by configuration alone.

A template says what is sent, JMESPaths say where in a received frame the answer stands and when it is
complete. Where the caller keeps the history each ask has a connection of its own; where the system keeps
it a conversation has one, and what the system remembers may end with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal
from uuid import uuid4

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Template,
    TextTemplate,
)
from replay_adapters.http.client import MAX_REPLY_BYTES, ClientAdapter, trace_headers
from replay_adapters.http.reply import ReceivedText, decode_json, parse_errors_as_bad_reply, shown_url
from replay_adapters.http.request import question_variables, render_template
from replay_adapters.http.websocket_client import (
    MAX_FRAME_BYTES,
    NORMAL_CLOSURE,
    AnswerBuilder,
    ClosedFrame,
    Socket,
    WebSocketClient,
)
from replay_adapters.json_reply import ReplyPath
from replay_adapters.setting_checks import (
    check_address,
    check_count,
    check_seconds,
    check_variables,
    filled_address,
    headers_from_environment,
    unsent_system_prompts,
    uses_seed,
)

_log = logging.getLogger("replay.websocket")


@dataclass(kw_only=True)
class WebSocketAdapter(ClientAdapter):
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
        check_address(self.url, "url", schemes=("ws", "wss"), example="ws://localhost:8080/chat")
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
        self._resumes = self.history == "server" and "session_id" in repr((self.url, self.on_open, self.send))
        if self.closes_when_done and self.history == "server" and not self._resumes:
            raise ValueError(
                "closes_when_done: a system that keeps the history over one connection can't close it after "
                "an answer; send {{session_id}} in url, on_open or send, or set history: client"
            )
        if self.answer is None and self.format == "json":
            raise ValueError("answer: JSON frames need a JMESPath of the answer, such as reply.text")
        if self.format == "text" and not all(isinstance(text, str) for text in (self.send, *self.on_open)):
            raise ValueError('send, on_open: text frames are texts; set "format: json" to send JSON values')
        variables = ", ".join(self.headers_env.values()) or "headers_env"
        self._client: WebSocketClient = WebSocketClient(
            headers={**self.headers, **headers_from_environment(self.headers_env)},
            max_frame_bytes=self.max_frame_bytes,
            ping_s=self.ping_s,
            unauthorized=f"check the key it wants (set by {variables})",
        )
        paths = {
            **{name: getattr(self, name) for name in ("until", "error", "passages", "steps", "session_id")},
            "answer": "@" if self.answer is None else self.answer,
            "greeting": self.greeting if isinstance(self.greeting, str) else None,
        }
        self._paths = {name: ReplyPath(path, name) for name, path in paths.items()}
        self._place = shown_url(self.url)
        self._url = TextTemplate(filled_address(self.url, "url"))
        self._on_open, self._send = Template(list(self.on_open)), Template(self.send)
        self._greetings = greetings

    @property
    def unsent_system_prompts(self) -> str | None:
        return unsent_system_prompts(self.send, self.on_open, where="send")

    @property
    def takes_seed(self) -> bool:
        """Return whether a template sends the seed."""
        return uses_seed(self.send)

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[WebSocketSession]:
        # A fresh id, not the conversation's: several policies play the same conversation at a time.
        ours = str(uuid4()) if self.session_id is None else None
        session = WebSocketSession(self, conversation, ours)
        try:
            yield session
        finally:
            await session.finish()

    def _builder(self) -> AnswerBuilder:
        return AnswerBuilder(
            paths=self._paths,
            frames=self.frames,
            is_joined=self.join == "concatenate",
            max_reply_bytes=self.max_reply_bytes,
        )

    def text_of(self, value: Any) -> str:
        """
        Return *value*, a rendered template, as a frame's text.

        Raises:
            AdapterRefusedError: it can't be one.
        """
        if self.format == "text":
            return value if isinstance(value, str) else str(value)
        try:
            return json.dumps(value)
        except (TypeError, ValueError) as error:
            raise AdapterRefusedError(
                f"{self._place}: the frame is not JSON ({error}); check its template", reached=False
            ) from error

    def value_in(self, frame: ReceivedText) -> Any:
        """
        Return the JSON value in *frame*.

        Raises:
            AdapterReplyError: there is none.
        """
        if self.format == "text":
            return frame.content.decode()
        try:
            return decode_json(frame.content)
        except ValueError as error:
            raise AdapterReplyError(
                f"{frame.place} sent a frame that can't be read as JSON ({error}): {frame.excerpt()}; "
                'set "format: text" if its frames are plain texts'
            ) from error


class WebSocketSession:
    """One conversation."""

    def __init__(
        self,
        system: WebSocketAdapter,
        conversation: Conversation,
        session_id: str | None,
    ) -> None:
        self._system = system
        self._conversation = conversation
        self._session_id = session_id
        self._socket: Socket | None = None
        self._was_open = False

    async def close(self) -> None:
        """Close what is open."""
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()

    async def finish(self) -> None:
        """Close what is open, when nothing more is asked. The log says so if an answer is left over."""
        if self._socket is not None:
            try:
                await self._ended_or_late(self._socket)
            except AdapterReplyError as error:
                _log.warning(
                    "%s. The conversation is over; its answers may be those of the turns before", error
                )
        await self.close()

    async def ask(self, request: ChatRequest) -> ChatReply:
        keep = False
        try:
            socket = await self._open(request)
            text = self._system.text_of(render_template(self._system._send, self._variables(request)))
            answer = self._system._builder()
            sent = perf_counter()
            await socket.send(text)
            try:
                with parse_errors_as_bad_reply(socket.place):
                    await self._receive(socket, answer)
            except _ReportedError as error:
                keep = True  # it said that this question failed, and goes on
                raise AdapterRefusedError(str(error)) from None
            keep = True
            return answer.reply(sent, socket.place)
        finally:
            # After a failure or a cancellation nobody knows what is still to come over this connection.
            if not keep or self._system.history == "client":
                await self.close()

    async def _receive(self, socket: Socket, answer: AnswerBuilder) -> None:
        while not answer.complete:
            try:
                async with asyncio.timeout(self._system.quiet_s if answer.pieces else None):
                    received = await socket.receive()
            except TimeoutError:
                break
            if isinstance(received, ClosedFrame):
                await self.close()
                if self._system.closes_when_done and received.code == NORMAL_CLOSURE and answer.pieces:
                    break
                raise received.error(partial=answer.text)
            answer.add(received, self._read(received))
        path = self._system._paths["session_id"]
        if path.expression is not None and self._session_id is None and answer.last is not None:
            raise path.unusable(answer.last, "gives no session id up to the session's first answer")

    async def _open(self, request: ChatRequest) -> Socket:
        """Return the connection to ask over, as it is or new."""
        if self._socket is not None:
            with parse_errors_as_bad_reply(self._socket.place):
                ended = await self._ended_or_late(self._socket)
            if ended is None:
                return self._socket
            await self.close()
            if not self._system._resumes:
                raise _memory_lost(ended.error(asked=False))
        elif self._was_open and self._system.history == "server" and not self._system._resumes:
            raise _memory_lost(None)
        url = render_template(self._system._url, self._variables(request))
        self._socket = socket = await self._system._client.connect(url, trace_headers(request.traceparent))
        for value in render_template(self._system._on_open, self._variables(request)):
            await socket.send(self._system.text_of(value))
        with parse_errors_as_bad_reply(socket.place):
            await self._await_greeting(socket)
        self._was_open = True
        return socket

    async def _await_greeting(self, socket: Socket) -> None:
        path, waiting = self._system._paths["greeting"], self._system._greetings
        while waiting:
            received = await socket.receive()
            if isinstance(received, ClosedFrame):
                raise received.error(asked=False)
            try:
                value = self._read(received)
            except _ReportedError as error:
                raise AdapterRefusedError(str(error), reached=False) from None
            waiting -= path.expression is None or path.holds(received, value)

    async def _ended_or_late(self, socket: Socket) -> ClosedFrame | None:
        """
        Return the connection's end, if it ended since the last answer.

        Raises:
            AdapterReplyError: more of that answer came when it was held for complete.
        """
        while (received := await socket.receive_now()) is not None:
            if isinstance(received, ClosedFrame):
                return received
            late = self._system._builder()
            late.add(received, self._system.value_in(received))
            if late.pieces:
                raise AdapterReplyError(
                    f"{received.place} sent more after its last answer seemed complete: "
                    f"{received.excerpt()}; "
                    "set until, or a higher frames or quiet_s, so that an answer is waited for to its end",
                    reached=False,
                )
        return None

    def _read(self, frame: ReceivedText) -> Any:
        """
        Return the value in *frame*, with the session's id taken from it.

        Raises:
            _ReportedError: it says that the system failed.
            AdapterReplyError: there is no value in it.
        """
        value = self._system.value_in(frame)
        if self._system._paths["error"].holds(frame, value):
            raise _ReportedError(
                f"{frame.place} says that it failed: {frame.excerpt()}; its log may say more"
            )
        self._session_id = self._system._paths["session_id"].id(frame, value) or self._session_id
        return value

    def _variables(self, request: ChatRequest) -> Any:
        return question_variables(self._conversation, request, self._system.history, self._session_id)


class _ReportedError(Exception):
    """The system reported a failure of its own."""


def _memory_lost(error: AdapterError | None) -> AdapterConnectionError:
    why = str(error).partition(";")[0] if error else "the connection was given up after the last failure"
    return AdapterConnectionError(
        f"{why}; what the system remembers of this conversation may be gone with it. Send {{{{session_id}}}} "
        "in url, on_open or send if the system can go on with a session over a new connection",
        reached=False,
    )
