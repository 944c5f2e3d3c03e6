"""One conversation over a WebSocket: its connections, and the frames that make an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    Passage,
    WireTimes,
    template_variables,
)
from replay_adapters.json_reply import ReplyPath
from replay_adapters.websocket.client import NORMAL_CLOSURE, Closed, Frame, Socket

if TYPE_CHECKING:
    from replay_adapters.websocket.adapter import WebSocketAdapter


class WebSocketSession:
    """One conversation."""

    def __init__(self, adapter: WebSocketAdapter, conversation: Conversation, session_id: str | None) -> None:
        self._adapter = adapter
        self._conversation = conversation
        self._session_id = session_id
        self._socket: Socket | None = None
        self._was_open = False

    async def close(self) -> None:
        """Close what is open."""
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()

    async def ask(self, request: ChatRequest) -> ChatReply:
        keep = False
        try:
            socket = await self._open(request)
            text = self._adapter.text_of(self._rendered("question_frame", request))
            answer = _Answer(self._adapter)
            sent = perf_counter()
            await socket.send(text)
            try:
                await self._receive(socket, answer)
            except _SaidSoError as error:
                keep = True  # it said that this question failed, and goes on
                raise AdapterRefusedError(str(error)) from None
            keep = True
            return answer.reply(sent, socket.place)
        finally:
            # After a failure or a cancellation nobody knows what is still to come over this connection.
            if not keep or self._adapter.history == "client":
                await self.close()

    async def _receive(self, socket: Socket, answer: _Answer) -> None:
        adapter = self._adapter
        while not answer.complete:
            try:
                async with asyncio.timeout(adapter.quiet_s if answer.pieces else None):
                    received = await socket.receive()
            except TimeoutError:
                break
            if isinstance(received, Closed):
                await self.close()
                if adapter.closes_when_done and received.code == NORMAL_CLOSURE and answer.pieces:
                    break
                raise received.error(partial=answer.text)
            value = self._read(received)
            answer.add(received, value)
        if adapter.session_id is not None and self._session_id is None and answer.last is not None:
            raise adapter.paths["session_id"].unusable(
                answer.last, "gives no session id up to the session's first answer"
            )

    async def _open(self, request: ChatRequest) -> Socket:
        """The connection to ask over, as it is or new."""
        if self._socket is not None:
            ended = self._ended_or_late(self._socket)
            if ended is None:
                return self._socket
            await self.close()
            if not self._adapter.resumes:
                raise _memory_lost(ended.error(asked=False))
        elif self._was_open and self._adapter.history == "server" and not self._adapter.resumes:
            raise _memory_lost(None)
        url = self._rendered("address", request)
        self._socket = socket = await self._adapter.client.connect(url)
        for value in self._rendered("opening_frames", request):
            await socket.send(self._adapter.text_of(value))
        await self._greeted(socket)
        self._was_open = True
        return socket

    async def _greeted(self, socket: Socket) -> None:
        greeting = self._adapter.greeting
        waiting = greeting if isinstance(greeting, int) else 1
        while waiting:
            received = await socket.receive()
            if isinstance(received, Closed):
                raise received.error(asked=False)
            try:
                value = self._read(received)
            except _SaidSoError as error:
                raise AdapterRefusedError(str(error), reached=False) from None
            if isinstance(greeting, int) or _holds(self._adapter.paths["greeting"], received, value):
                waiting -= 1

    def _ended_or_late(self, socket: Socket) -> Closed | None:
        """
        The connection's end, if it ended since the last answer.

        Raises:
            AdapterReplyError: more of that answer came when it was held for complete.
        """
        while (received := socket.received()) is not None:
            if isinstance(received, Closed):
                return received
            late = _Answer(self._adapter)
            late.add(received, self._adapter.value_in(received))
            if late.pieces:
                raise AdapterReplyError(
                    f"{received.place} sent more after its last answer seemed complete: "
                    f"{received.excerpt()}; "
                    "set until, or a higher frames or quiet_s, so that an answer is waited for to its end",
                    reached=False,
                )
        return None

    def _read(self, frame: Frame) -> Any:
        """
        The value in *frame*, with the session's id taken from it.

        Raises:
            _SaidSoError: it says that the system failed.
            AdapterReplyError: there is no value in it.
        """
        adapter = self._adapter
        value = adapter.value_in(frame)
        if (path := adapter.paths.get("error")) is not None and _holds(path, frame, value):
            raise _SaidSoError(f"{frame.place} says that it failed: {frame.excerpt()}; its log may say more")
        if (path := adapter.paths.get("session_id")) is not None:
            found = path.find(frame, value)
            if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
                self._session_id = str(found)
        return value

    def _rendered(self, template: str, request: ChatRequest) -> Any:
        variables = template_variables(
            self._conversation,
            question=request.question,
            history=request.history if self._adapter.history == "client" else (),
            depth=request.depth,
            session_id=self._session_id,
        )
        try:
            return getattr(self._adapter, template).render(variables)
        except ValueError as error:
            raise AdapterRefusedError(f"the request can't be made: {error}", reached=False) from error


class _SaidSoError(Exception):
    """The system reported a failure of its own."""


class _Answer:
    """What came of an answer so far."""

    def __init__(self, adapter: WebSocketAdapter) -> None:
        self._adapter = adapter
        self._size = 0
        self._passages: tuple[Passage, ...] = ()
        self._first_byte: float | None = None
        self._moments: list[float] = []
        self.pieces: list[str] = []
        self.complete = False
        self.last: Frame | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces if self._adapter.join == "concatenate" else self.pieces[-1:])

    def add(self, frame: Frame, value: Any) -> None:
        """
        Take what is the answer's in *frame*, whose value is *value*.

        Raises:
            AdapterReplyError: it is of another shape than the paths were made for, or too much.
        """
        adapter = self._adapter
        self.last = frame
        self._first_byte = self._first_byte or frame.at
        self._size += len(frame.text.encode("utf-8", "replace"))
        if self._size > adapter.max_reply_bytes:
            raise AdapterReplyError(
                f"{frame.place} sent more than {adapter.max_reply_bytes} bytes for one answer; "
                "check its end (until, frames, quiet_s), or raise max_reply_bytes if that is right"
            )
        if (path := adapter.paths.get("passages")) is not None:
            self._passages = path.passages(frame, value) or self._passages
        piece = _piece(adapter.paths["answer"], frame, value)
        if piece is not None:
            self.pieces.append(piece)
            self._moments.append(frame.at)
        until = adapter.paths.get("until")
        self.complete = (until is not None and _holds(until, frame, value)) or (
            adapter.frames is not None and len(self.pieces) >= adapter.frames
        )

    def reply(self, sent: float, place: str) -> ChatReply:
        """
        The whole answer.

        Raises:
            AdapterReplyError: it is empty.
        """
        if not self.text.strip():
            shown = self.last.excerpt() if self.last else "nothing"
            raise AdapterReplyError(
                f'{place} completed its answer, but answer "{self._adapter.answer}" gave no text in any '
                f"frame; the last one: {shown}; check the path against it"
            )
        # Waiting for more that never came is ours, so it is no part of the system's latency.
        done = self.last.at if self.last else sent
        in_pieces = self._adapter.frames != 1 and self._adapter.join == "concatenate"
        return ChatReply(
            text=self.text,
            passages=self._passages,
            times=WireTimes(
                sent=sent,
                done=done,
                first_byte=self._first_byte,
                first_token=self._moments[0] if in_pieces else None,
                token_gaps_100us=_gaps(self._moments) if in_pieces else (),
            ),
        )


def _gaps(moments: Sequence[float]) -> tuple[int, ...]:
    return tuple(round((later - earlier) * 10_000) for earlier, later in pairwise(moments))


def _holds(path: ReplyPath, frame: Frame, value: Any) -> bool:
    """Whether *path* gives something true, as JMESPath has it: 0 is, nothing and empty things aren't."""
    found = path.find(frame, value)
    return found is not None and found is not False and found not in ("", [], {})


def _piece(path: ReplyPath, frame: Frame, value: Any) -> str | None:
    if not _holds(path, frame, value):
        return None
    found = path.find(frame, value)
    if isinstance(found, str):
        return found
    if isinstance(found, int | float) and not isinstance(found, bool):
        return str(found)
    raise path.unusable(frame, "gives no text")


def _memory_lost(error: AdapterError | None) -> AdapterConnectionError:
    why = str(error).partition(";")[0] if error else "the connection was given up after the last failure"
    return AdapterConnectionError(
        f"{why}; what the system remembers of this conversation may be gone with it. Send {{{{session_id}}}} "
        "in url, on_open or send if the system can go on with a session over a new connection",
        reached=False,
    )
