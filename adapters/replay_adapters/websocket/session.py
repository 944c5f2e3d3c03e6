"""One conversation over a WebSocket: its connections, and the frames that make an answer."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import Any

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
)
from replay_adapters.http.client import trace_headers
from replay_adapters.rendering import question_variables, rendered
from replay_adapters.reply_errors import parse_errors_as_bad_reply
from replay_adapters.websocket.client import (
    NORMAL_CLOSURE,
    ClosedFrame,
    Socket,
    WebSocketClient,
    WebSocketFrame,
)
from replay_adapters.websocket.frame_format import AnswerBuilder, FrameFormat

_log = logging.getLogger("replay.websocket")


class WebSocketSession:
    """One conversation."""

    def __init__(
        self,
        client: WebSocketClient,
        format: FrameFormat,
        conversation: Conversation,
        session_id: str | None,
    ) -> None:
        self._client = client
        self._format = format
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
            text = self._format.text_of(rendered(self._format.send, self._variables(request)))
            answer = AnswerBuilder(self._format)
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
            if not keep or self._format.history == "client":
                await self.close()

    async def _receive(self, socket: Socket, answer: AnswerBuilder) -> None:
        while not answer.complete:
            try:
                async with asyncio.timeout(self._format.quiet_s if answer.pieces else None):
                    received = await socket.receive()
            except TimeoutError:
                break
            if isinstance(received, ClosedFrame):
                await self.close()
                if self._format.closes_when_done and received.code == NORMAL_CLOSURE and answer.pieces:
                    break
                raise received.error(partial=answer.text)
            answer.add(received, self._read(received))
        path = self._format.paths["session_id"]
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
            if not self._format.resumes:
                raise _memory_lost(ended.error(asked=False))
        elif self._was_open and self._format.history == "server" and not self._format.resumes:
            raise _memory_lost(None)
        url = rendered(self._format.url, self._variables(request))
        self._socket = socket = await self._client.connect(url, trace_headers(request.traceparent))
        for value in rendered(self._format.on_open, self._variables(request)):
            await socket.send(self._format.text_of(value))
        with parse_errors_as_bad_reply(socket.place):
            await self._greeted(socket)
        self._was_open = True
        return socket

    async def _greeted(self, socket: Socket) -> None:
        path, waiting = self._format.paths["greeting"], self._format.greetings
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
        while (received := await socket.received()) is not None:
            if isinstance(received, ClosedFrame):
                return received
            late = AnswerBuilder(self._format)
            late.add(received, self._format.value_in(received))
            if late.pieces:
                raise AdapterReplyError(
                    f"{received.place} sent more after its last answer seemed complete: "
                    f"{received.excerpt()}; "
                    "set until, or a higher frames or quiet_s, so that an answer is waited for to its end",
                    reached=False,
                )
        return None

    def _read(self, frame: WebSocketFrame) -> Any:
        """
        Return the value in *frame*, with the session's id taken from it.

        Raises:
            _ReportedError: it says that the system failed.
            AdapterReplyError: there is no value in it.
        """
        value = self._format.value_in(frame)
        if self._format.paths["error"].holds(frame, value):
            raise _ReportedError(
                f"{frame.place} says that it failed: {frame.excerpt()}; its log may say more"
            )
        self._session_id = self._format.paths["session_id"].id(frame, value) or self._session_id
        return value

    def _variables(self, request: ChatRequest) -> Any:
        return question_variables(self._conversation, request, self._format.history, self._session_id)


class _ReportedError(Exception):
    """The system reported a failure of its own."""


def _memory_lost(error: AdapterError | None) -> AdapterConnectionError:
    why = str(error).partition(";")[0] if error else "the connection was given up after the last failure"
    return AdapterConnectionError(
        f"{why}; what the system remembers of this conversation may be gone with it. Send {{{{session_id}}}} "
        "in url, on_open or send if the system can go on with a session over a new connection",
        reached=False,
    )
