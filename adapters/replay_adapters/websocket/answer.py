"""An answer that comes in frames of a WebSocket, put together as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay import AdapterReplyError, ChatReply, Passage, WireTimes
from replay_adapters.chat.streamed_answer import token_gaps_100us
from replay_adapters.http.reply import ReceivedText
from replay_adapters.json_reply import ReplyPath, spelt_out


class AnswerBuilder:
    """What came of an answer so far."""

    def __init__(
        self, paths: Mapping[str, ReplyPath], *, frames: int | None, is_joined: bool, max_reply_bytes: int
    ) -> None:
        """*paths* by setting; *frames* with a piece complete it; unless *is_joined* the last one is all."""
        self._paths = paths
        self._frames = frames
        self._is_joined = is_joined
        self._max_reply_bytes = max_reply_bytes
        self._size = 0
        self._passages: tuple[Passage, ...] = ()
        self._values: list[Any] = []
        self._first_byte: float | None = None
        self._moments: list[float] = []
        self.pieces: list[str] = []
        self.complete: bool = False
        self.last: ReceivedText | None = None

    @property
    def text(self) -> str:
        """The pieces together."""
        return "".join(self.pieces if self._is_joined else self.pieces[-1:])

    def add(self, frame: ReceivedText, value: Any) -> None:
        """
        Take what is the answer's in *frame*, whose value is *value*.

        Raises:
            AdapterReplyError: it is of another shape than the paths were made for, or too much.
        """
        most, frames, paths = self._max_reply_bytes, self._frames, self._paths
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
                f'{place} completed its answer, but answer "{self._paths["answer"].expression}" gave '
                f"no text in any frame; the last one: {shown}; check the path against it"
            )
        in_pieces = self._frames != 1 and self._is_joined
        times = WireTimes(
            sent=sent,
            # Waiting for more that never came is ours, so it is no part of the system's latency.
            done=self.last.at if self.last else sent,
            first_byte=self._first_byte,
            first_token=self._moments[0] if in_pieces else None,
            token_gaps_100us=token_gaps_100us(self._moments) if in_pieces else (),
        )
        assert self.last is not None
        steps = self._paths["steps"].steps(self.last, self._values)
        return ChatReply(text=self.text, passages=self._passages, steps=steps, times=times)
