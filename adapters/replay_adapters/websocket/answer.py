"""An answer that comes in frames of a WebSocket, put together as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from replay import AdapterReplyError, ChatReply, Passage, WireTimes
from replay_adapters.chat.streamed_answer import token_gaps_100us
from replay_adapters.http.reply import ReceivedText
from replay_adapters.json_reply import ReplyPath, spelt_out


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
