"""
Any stream: where the text is in each of its events, and what ends it, by configuration alone.

An event is the data of a server-sent event, or its name and its data, or a line of JSON. A plain text that
comes bit by bit is a stream too, whose events are the bits.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replay import AdapterReplyError, ChatReply
from replay_adapters.chat.event_stream import (
    EventReader,
    JsonLinesReader,
    ServerSentEvents,
    StreamEvent,
    events_in,
)
from replay_adapters.chat.streamed_answer import (
    StreamedAnswer,
    check_complete,
    check_event_stream,
    decode_event,
    stream_times,
)
from replay_adapters.http.client import StreamEnd
from replay_adapters.http.failures import stream_error
from replay_adapters.http.reply import HttpReply, decode_json, whole_text
from replay_adapters.json_reply import ReplyPath, is_true, spelt_out

Format = Literal["sse", "sse-named", "json-lines", "text"]
Content = Literal["json", "text"]
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


@dataclass(kw_only=True)
class EventPaths:
    """Where in the events of a system's streams is what we want."""

    format: Format
    content: Content
    """What the data of server-sent events hold."""
    piece: ReplyPath
    answer: ReplyPath
    until: str | None
    join: Join
    error: ReplyPath

    def __post_init__(self) -> None:
        # The data of the last event, where it is known; else its end can be in any read.
        self._mark = self.until.encode() if self.until is not None and _MARK.fullmatch(self.until) else b""
        self._last = ReplyPath(None if self._mark else self.until, "until")

    def end(self) -> StreamEnd:
        """Return a new ``StreamEnd`` that recognizes, read by read, the last event of a stream."""
        if self.until is None:
            return StreamEnd()
        reader, fed = self._reader(), 0

        def has_ended(reads: Sequence[bytes]) -> bool:
            nonlocal fed
            events = [event for read in reads[fed:] for event in reader.feed(read)]
            fed = len(reads)
            return any(self._is_last(event) for event in events)

        return StreamEnd(self._mark, has_ended)

    def _reader(self) -> EventReader:
        if self.format == "json-lines":
            return JsonLinesReader()
        return ServerSentEvents(dataless=self.format == "sse-named")

    def _is_last(self, event: StreamEvent) -> bool:
        if self._mark:
            return event.data.strip() == self._mark
        try:
            return self._ends(self._value(event, self._data(event.data)))
        except ValueError:
            return False  # told of once all have come

    def _value(self, event: StreamEvent, data: Any) -> Any:
        """Return the value that the paths are applied to."""
        if self.format != "sse-named":
            return data
        return {"event": event.name.decode("utf-8", "replace") or "message", "data": data}

    def _data(self, data: bytes) -> Any:
        """
        Raises:
            ValueError: *data* is not JSON, though it should be.
        """
        if self.content == "text":
            return data.decode("utf-8", "replace")
        if self.format != "sse-named":
            return decode_json(data)
        if not data.strip():
            return None
        try:
            return decode_json(data)
        except ValueError:
            # A few words beside events of JSON are common; JSON that breaks off is a fault.
            text = data.decode("utf-8", "replace").strip()
            if text[0] in '{["' and not _MARK.fullmatch(text):
                raise
            return text

    def _ends(self, value: Any) -> bool:
        """Return whether *value* is that of the last event; events of other shapes are not."""
        return bool(self._last.search(value))

    def events(self, reply: HttpReply) -> Events:
        """
        Return the events of *reply*.

        Raises:
            AdapterReplyError: there are none, or one of them isn't JSON.
            AdapterError: one of them tells of an error.
        """
        if self.format == "text":
            return _texts(reply)
        values: list[Any] = []
        positions: list[int] = []
        ended = self.until is None and reply.broken is None
        found = events_in(reply.reads, self._reader(), ended=reply.broken is None)
        if not found and self.format != "json-lines":
            self._check_refusal(reply)
            check_event_stream(reply)
        for number, (event, read) in enumerate(found, 1):
            if self.content == "json" and not event.data.strip() and not event.name:
                continue
            if self._mark and event.data.strip() == self._mark:
                ended = True
                break
            try:
                value = self._value(event, decode_event(reply, event, number, self._data))
            except AdapterReplyError:
                half = self.format == "json-lines" and _is_half_a_line(reply, event)
                if half and number == len(found):
                    return Events(values=values, reads=positions, ended=False)
                raise
            values.append(value)
            positions.append(read)
            if told := self.error.find(reply, value):
                raise stream_error(reply, self._error_in(value) if told is True else told)
            if self._ends(value):
                ended = True
                break
        return Events(values=values, reads=positions, ended=ended)

    def _check_refusal(self, reply: HttpReply) -> None:
        """
        Nothing, unless *reply*, which was to be a stream, is one JSON value that tells of an error.

        Raises:
            AdapterError: it is, as of JSON-RPC, which says so with a status of success.
        """
        try:
            value = self._value(StreamEvent(reply.raw), decode_json(reply.raw))
        except ValueError:
            return
        if told := self.error.search(value):
            raise stream_error(reply, self._error_in(value) if told is True else told)

    def _error_in(self, value: Any) -> Any:
        """Return the error in *value*, an event that is an error as a whole."""
        return value["data"] or value if self.format == "sse-named" else value

    def read_answer(
        self, reply: HttpReply, events: Events, passages: ReplyPath, steps: ReplyPath
    ) -> ChatReply:
        """
        Return the answer that *events* of *reply* make.

        Raises:
            AdapterCutOffError: it is not complete.
            AdapterError: there is none, or the events are of another shape than the paths were made for.
        """
        streamed = StreamedAnswer()
        whole, whole_read = None, 0
        for value, read in zip(events.values, events.reads, strict=True):
            if piece := _text_at(self.piece, reply, value):
                streamed.pieces.append(piece)
                streamed.piece_reads.append(read)
            if answer := _text_at(self.answer, reply, value):
                whole, whole_read = answer, read
        if self.join == "last":
            del streamed.pieces[:-1]
        missing = "its end" if self.until is None else f'the event that until "{self.until}" means'
        streamed.complete = events.ended
        if events.ended and whole is None and self.answer.expression and streamed.pieces:
            streamed.complete, missing = False, f'an event with the answer "{self.answer.expression}"'
        check_complete(reply, streamed, missing)
        if whole is None:
            whole = whole_text(streamed.pieces)
        elif not streamed.piece_reads:
            streamed.piece_reads.append(whole_read)
        if not whole.strip():
            if self.format == "text":
                raise reply.unusable(" with an empty text", "the system's log may say why")
            path = self.answer if self.answer.expression else self.piece
            raise path.unusable(reply, f"gives no text in any of {len(events.values)} events")
        used = next((value for value in reversed(events.values) if passages.holds(reply, value)), None)
        return ChatReply(
            text=whole,
            passages=() if used is None else passages.passages(reply, used),
            steps=steps.steps(reply, events.values),
            times=stream_times(reply, streamed.piece_reads),
        )


def _text_at(path: ReplyPath, reply: HttpReply, value: Any) -> str | None:
    """
    Return the text at *path* in *value*, an event of *reply*; None for nothing, null or false.

    Raises:
        AdapterReplyError: something else stands there.
    """
    found = path.find(reply, value)
    text = spelt_out(found)
    if text is None and is_true(found):
        raise path.unusable(reply, "gives something else than a text in one of the events")
    return text


def _texts(reply: HttpReply) -> Events:
    """Return the bits of a text; half a character belongs to the bit that completes it."""
    decoder = codecs.getincrementaldecoder(reply.charset)("replace")
    texts = [*map(decoder.decode, reply.reads)]
    if texts and reply.broken is None:
        texts[-1] += decoder.decode(b"", final=True)
    return Events(values=texts, reads=range(len(texts)), ended=reply.broken is None)


def _is_half_a_line(reply: HttpReply, event: StreamEvent) -> bool:
    """Return whether *event*, the last one and not JSON, looks like a line that the server broke off."""
    return event.data.lstrip()[:1] in (b"{", b"[") and reply.reads[-1][-1:] not in (b"\n", b"\r")
