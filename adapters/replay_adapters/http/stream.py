"""
Any stream of JSON events: where the text is in each, and what ends it, by configuration alone.

An event is the data of a server-sent event, or a line of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replay import AdapterReplyError, ChatReply
from replay_adapters.chat.event_stream import (
    EventReader,
    JsonLines,
    ServerSentEvents,
    StreamEvent,
    events_in,
)
from replay_adapters.chat.stream_errors import error_told
from replay_adapters.chat.streamed_answer import (
    Streamed,
    check_complete,
    check_event_stream,
    decoded,
    stream_times,
    whole_text,
)
from replay_adapters.http.client import StreamEnd
from replay_adapters.http.reply import HttpReply
from replay_adapters.json_bytes import decode_json
from replay_adapters.json_reply import ReplyPath, spelt_out

Format = Literal["sse", "json-lines"]
Join = Literal["concatenate", "last"]

_MARK = re.compile(r"\[\w+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What the events of one reply hold."""

    values: Sequence[Any]
    """The JSON of each, up to the one that ends the stream."""
    reads: Sequence[int]
    """For each the position of the read that ended it."""
    ended: bool
    """The last one was there, or none is expected."""


class EventPaths:
    """Where in the events of a system's streams is what we want."""

    def __init__(self, format: Format, piece: str, until: str | None, join: Join, error: str | None) -> None:
        """
        Raises:
            ValueError: a text is not a JMESPath.
        """
        self._format = format
        self._piece = ReplyPath(piece, "piece")
        self._join = join
        self._error = ReplyPath(error or None, "error")
        self._until = until
        # The data of the last event, where it is known; else its end can be in any read.
        self._mark = until.encode() if until is not None and _MARK.fullmatch(until) else b""
        self._last = ReplyPath(None if self._mark else until, "until")

    def end(self) -> StreamEnd:
        """What tells, read by read, that the last event of a stream has come."""
        if self._until is None:
            return StreamEnd()
        reader, fed = self._reader(), 0

        def ended(reads: Sequence[bytes]) -> bool:
            nonlocal fed
            events = [event for read in reads[fed:] for event in reader.feed(read)]
            fed = len(reads)
            return any(self._is_last(event) for event in events)

        return StreamEnd(self._mark, ended)

    def _reader(self) -> EventReader:
        return ServerSentEvents() if self._format == "sse" else JsonLines()

    def _is_last(self, event: StreamEvent) -> bool:
        if self._mark:
            return event.data.strip() == self._mark
        try:
            return self._ends(decode_json(event.data))
        except ValueError:
            return False  # told of once all have come

    def _ends(self, value: Any) -> bool:
        """Whether *value* is that of the last event; one of another shape may tell of the beginning."""
        return bool(self._last.search(value))

    def events(self, reply: HttpReply) -> Events:
        """
        The events of *reply*.

        Raises:
            AdapterReplyError: there are none, or one of them isn't JSON.
            AdapterError: one of them tells of an error.
        """
        values: list[Any] = []
        positions: list[int] = []
        ended = self._until is None and reply.broken is None
        found = events_in(reply.reads, self._reader(), ended=reply.broken is None)
        if not found and self._format == "sse":
            check_event_stream(reply)
        for number, (event, read) in enumerate(found, 1):
            if not event.data.strip():
                continue
            if self._mark and event.data.strip() == self._mark:
                ended = True
                break
            try:
                value = decoded(reply, event, number)
            except AdapterReplyError:
                half = self._format == "json-lines" and _is_half_a_line(reply, event)
                if half and number == len(found):
                    return Events(values=values, reads=positions, ended=False)
                raise
            values.append(value)
            positions.append(read)
            if told := self._error.find(reply, value):
                raise error_told(reply, told)
            if self._ends(value):
                ended = True
                break
        return Events(values=values, reads=positions, ended=ended)

    def answer(self, reply: HttpReply, events: Events, passages: ReplyPath) -> ChatReply:
        """
        The answer that *events* of *reply* make.

        Raises:
            AdapterCutOffError: it is not complete.
            AdapterError: there is none, or the events are of another shape than the paths were made for.
        """
        streamed = Streamed(complete=events.ended)
        for value, read in zip(events.values, events.reads, strict=True):
            found = self._piece.find(reply, value)
            piece = spelt_out(found)
            if piece is None and found is not None:
                raise self._piece.unusable(reply, "gives something else than a text in one of the events")
            if piece:
                streamed.pieces.append(piece)
                streamed.piece_reads.append(read)
        if self._join == "last":
            del streamed.pieces[:-1]
        missing = "its end" if self._until is None else f'the event that until "{self._until}" means'
        check_complete(reply, streamed, missing)
        text = whole_text(streamed.pieces)
        if not text.strip():
            raise self._piece.unusable(reply, f"gives no text in any of {len(events.values)} events")
        used = next(
            (value for value in reversed(events.values) if passages.find(reply, value) is not None), None
        )
        return ChatReply(
            text=text,
            passages=() if used is None else passages.passages(reply, used),
            times=stream_times(reply, streamed.piece_reads),
        )


def _is_half_a_line(reply: HttpReply, event: StreamEvent) -> bool:
    """Whether *event*, the last one and not JSON, looks like a line that the server broke off."""
    return event.data.lstrip()[:1] in (b"{", b"[") and reply.reads[-1][-1:] not in (b"\n", b"\r")
