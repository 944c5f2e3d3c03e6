"""What a system's frames hold: how a question is put into them, and how an answer is found in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from replay import (
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    HistoryKeeper,
    Passage,
    Template,
    TextTemplate,
    WireTimes,
)
from replay_adapters.json_reply import ReplyPath, spelt_out
from replay_adapters.websocket.client import WebSocketFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFormat:
    """How one talks with a system; ``WebSocketAdapter`` describes the settings of the same names."""

    place: str
    """Its address, fit to be shown."""
    url: TextTemplate
    on_open: Template
    send: Template
    format: Literal["json", "text"]
    paths: Mapping[str, ReplyPath]
    """By setting: ``answer``, ``until``, ``greeting``, ``error``, ``passages``, ``steps``, ``session_id``."""
    frames: int | None
    quiet_s: float | None
    closes_when_done: bool
    join: Literal["concatenate", "last"]
    greetings: int
    """Frames to wait for before the first question; those at the ``greeting`` path, if there is one."""
    history: HistoryKeeper
    resumes: bool
    """A new connection can go on with a session: the system is told the session's id."""
    max_reply_bytes: int

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
                f"{self.place}: the frame is not JSON ({error}); check its template", reached=False
            ) from error

    def value_in(self, frame: WebSocketFrame) -> Any:
        """
        Return the JSON value in *frame*.

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


class AnswerBuilder:
    """What came of an answer so far."""

    def __init__(self, format: FrameFormat) -> None:
        self._format = format
        self._size = 0
        self._passages: tuple[Passage, ...] = ()
        self._values: list[Any] = []
        self._first_byte: float | None = None
        self._moments: list[float] = []
        self.pieces: list[str] = []
        self.complete: bool = False
        self.last: WebSocketFrame | None = None

    @property
    def text(self) -> str:
        """The pieces together."""
        return "".join(self.pieces if self._format.join == "concatenate" else self.pieces[-1:])

    def add(self, frame: WebSocketFrame, value: Any) -> None:
        """
        Take what is the answer's in *frame*, whose value is *value*.

        Raises:
            AdapterReplyError: it is of another shape than the paths were made for, or too much.
        """
        most, frames, paths = self._format.max_reply_bytes, self._format.frames, self._format.paths
        self.last = frame
        self._first_byte = self._first_byte or frame.at
        self._size += len(frame.text.encode("utf-8", "replace"))
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
                f'{place} completed its answer, but answer "{self._format.paths["answer"].expression}" gave '
                f"no text in any frame; the last one: {shown}; check the path against it"
            )
        in_pieces = self._format.frames != 1 and self._format.join == "concatenate"
        # Rounded once and then subtracted, so that errors don't add up over an answer.
        at_100us = [int(moment * 10_000) for moment in self._moments]
        gaps = (later - earlier for earlier, later in pairwise(at_100us))
        times = WireTimes(
            sent=sent,
            # Waiting for more that never came is ours, so it is no part of the system's latency.
            done=self.last.at if self.last else sent,
            first_byte=self._first_byte,
            first_token=self._moments[0] if in_pieces else None,
            token_gaps_100us=tuple(gaps) if in_pieces else (),
        )
        assert self.last is not None
        steps = self._format.paths["steps"].steps(self.last, self._values)
        return ChatReply(text=self.text, passages=self._passages, steps=steps, times=times)
