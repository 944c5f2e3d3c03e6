"""
An answer put together from the events of its stream, with the moments at which its pieces came.

What the events mean differs from one kind of system to the next; what they come to doesn't: an answer with
calls of tools and what it cost, an error that the system told, or an answer that was cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import sub
from typing import Any, TypeVar

import msgspec

from replay import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterReplyError,
    Passage,
    TokenLogprobs,
    ToolCall,
    Usage,
    WireTimes,
)
from replay_adapters.chat.event_stream import (
    BYTE_ORDER_MARK,
    DONE,
    ServerSentEvents,
    StreamEvent,
    events_in,
    json_array,
)
from replay_adapters.http.reply import HttpReply, decode_json, encode_json, whole_text
from replay_adapters.json_reply import ReplyPath

HEADER = "x-litellm-response-cost"
"""LiteLLM's proxy has the cost there (https://docs.litellm.ai/docs/proxy/response_headers), and in
``usage.cost`` where it streams, as OpenRouter has it (https://openrouter.ai/docs/use-cases/usage-accounting)."""
MOST_USD = 1e6
"""No reply costs more; sums over a run stay finite."""


def reported_cost_usd(usage: Any, headers: Mapping[str, str]) -> float | None:
    """Return what *usage* or *headers* say that a reply cost, in US dollars; None if neither does."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if cost is None:
        cost = headers.get(HEADER)
        if cost is None:
            return None
    try:
        told = float(cost)
    except (TypeError, ValueError, OverflowError):
        return None
    return told if 0 <= told <= MOST_USD else None


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    arguments: Any = None
    """All of them at once, a text or a JSON value; pieces go before it."""


class CallPieces:
    """
    The calls of tools in one reply, put together from the pieces in which they come.

    What should be there is often not: ids, indices, names and arguments are taken as servers send them.
    """

    __slots__ = ("_calls", "_latest")

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []
        self._latest: dict[int | None, _PartialCall] = {}

    def take(
        self, index: Any, *, id: Any = None, name: Any = None, piece: Any = None, arguments: Any = None
    ) -> None:
        """
        Take a call, or more of one: a *piece* of its arguments, or all of them.

        It is more of the last call with that *index*, unless it has another id. Some servers give every
        call the index 0, others none: then a name begins a call as well.
        """
        index = index if type(index) is int else None
        id, name = (part if isinstance(part, str) else "" for part in (id, name))
        call = self._latest.get(index)
        another = call is not None and ((id and call.id and id != call.id) or (index is None and name))
        if call is None or another:
            call = self._latest[index] = _PartialCall()
            self._calls.append(call)
        call.id = call.id or id
        call.name = call.name or name
        if isinstance(piece, str):
            call.pieces.append(piece)
        if arguments is not None:
            call.arguments = arguments

    def __bool__(self) -> bool:
        return bool(self._calls)

    def whole(self, *, after: int) -> tuple[ToolCall, ...]:
        """
        Return the calls that name a tool; missing ids are numbered on from *after* earlier calls.

        Raises:
            ValueError: arguments are nested too deeply.
        """
        named = [call for call in self._calls if call.name]
        return tuple(
            ToolCall(id=call.id or f"call_{number}", name=call.name, arguments=_arguments(call))
            for number, call in enumerate(named, after + 1)
        )


def _arguments(call: _PartialCall) -> str:
    """Return the call's arguments as JSON text; ``{}`` for none, as servers send without parameters."""
    text = whole_text(call.pieces)
    if not text.strip() and call.arguments is not None:
        whole = call.arguments
        text = whole if isinstance(whole, str) else encode_json(whole).decode()
    return text if text.strip() else "{}"


T = TypeVar("T")
E = TypeVar("E", bound=msgspec.Struct)


class StreamedAnswer(msgspec.Struct):
    """What the events of one answer say, as far as they came; or what a reply in one piece says."""

    pieces: list[str] = []
    """Texts that aren't empty."""
    piece_reads: list[int] = []
    """For each piece the position of the read in which its event ended."""
    complete: bool = False
    """An event said that the answer is complete."""
    finish: Any = None
    """Why the model stopped, in the system's word."""
    refused: bool = False
    """The model refused to answer."""
    id: str | None = None
    """Under which the server keeps the answer."""
    calls: CallPieces = msgspec.field(default_factory=CallPieces)
    """Tools that it wants to be called."""
    usage: Usage | None = None
    cost_usd: float | None = None
    logprobs: tuple[TokenLogprobs, ...] | None = None
    told: Any = None
    """What may say how long the server took: a reply, or fields of a stream's events."""

    def take_usage(self, usage: Usage | None, told: Any, headers: Mapping[str, str] | None = None) -> None:
        """
        Take the counts of an event that has some, and the server's own form of them, *told*.

        The *headers* of a stream have no cost: they were sent before there was any.
        """
        self.usage = usage or self.usage
        cost = reported_cost_usd(told, headers or {})
        self.cost_usd = self.cost_usd if cost is None else cost


def event_of(kind: type[E], value: Any) -> E:
    """Return an event of *kind* from a *value* of any shape; what isn't as documented is passed over."""
    found = value if isinstance(value, dict) else {}
    return kind(**{name: found.get(name) for name in kind.__struct_fields__})


def decoded_events(
    reply: HttpReply,
    together: msgspec.json.Decoder[list[T]],
    convert: Callable[[Any], T],
) -> tuple[list[T], Sequence[int], bool]:
    """
    Return all events' values, the read that ended each (its index), and whether ``[DONE]`` came.

    *together* decodes them at once. *convert* makes one from any JSON value, for streams that aren't as
    regular as that.

    Raises:
        AdapterReplyError: there are no events, or one of them isn't JSON.
    """
    found = json_array(reply.reads)
    if found is not None:
        try:
            values = together.decode(found.content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # event by event, to name the one at fault, or to read what msgspec won't
        else:
            if len(values) == len(found.reads):
                return values, found.reads, found.done
    values = []
    positions: list[int] = []
    events = events_in(reply.reads, ServerSentEvents(), ended=reply.broken is None)
    for number, (event, read) in enumerate(events, 1):
        if event.data.strip() == DONE:
            return values, positions, True
        if event.data.strip():
            values.append(convert(decode_event(reply, event, number)))
            positions.append(read)
    if not events:
        check_event_stream(reply)
    return values, positions, False


def check_event_stream(reply: HttpReply) -> None:
    """
    Make sure that *reply*, which has no event, may be the beginning of an event stream.

    Raises:
        AdapterReplyError: it is something else.
    """
    body = reply.raw.removeprefix(BYTE_ORDER_MARK)
    may_be = not body or "event-stream" in reply.content_type or body.startswith((b"data:", b"event:", b":"))
    if reply.broken is None and not may_be:
        raise reply.unusable(
            f" with {reply.content_type or 'no content type'}, in which there is no event",
            "check that the address is that of the endpoint itself",
        )


def decode_event(
    reply: HttpReply, event: StreamEvent, number: int, decode: Callable[[bytes], Any] = decode_json
) -> Any:
    """
    Return the value in *event*, the *number*-th of *reply*, as *decode* reads it.

    Raises:
        AdapterReplyError: there is none.
    """
    try:
        try:
            return decode(event.data)
        except UnicodeDecodeError:  # a reader of event streams puts marks for what isn't UTF-8
            return decode(event.data.decode("utf-8", "replace").encode())
    except ValueError as error:
        raise AdapterReplyError(
            f"{reply.place}: event {number} of the stream can't be read as JSON ({error}): "
            f"{reply.excerpt(event.data)}; the system's log may say why",
            status=reply.status,
        ) from error


def check_complete(reply: HttpReply, streamed: StreamedAnswer, missing: str) -> None:
    """
    Make sure that the answer is complete; *missing* says what should have ended it.

    Raises:
        AdapterCutOffError: a part of it had come.
        AdapterError: none of it had.
    """
    if streamed.complete:
        return
    cause = reply.broken
    if cause is not None and not isinstance(cause, AdapterConnectionError):
        raise cause
    text = whole_text(streamed.pieces)
    if text:
        reason = "" if cause is None else f" ({cause})"
        raise AdapterCutOffError(
            f"{reply.place}: the stream ended before {missing}, after {len(text)} characters of the "
            f"answer{reason}; the system's log may say why",
            partial=text,
            status=reply.status,
        ) from cause
    if cause is not None:
        raise cause
    raise AdapterConnectionError(
        f"{reply.place}: the stream ended before {missing} and before any text ({reply.excerpt()}); "
        "the system's log may say why",
        retryable=True,
        status=reply.status,
    )


def stream_times(reply: HttpReply, piece_reads: Sequence[int]) -> WireTimes:
    """Return the moments of *reply*, whose answer's pieces came with the reads at *piece_reads*."""
    if not piece_reads:
        return WireTimes(sent=reply.sent, first_byte=reply.first_byte, done=reply.done)
    read_at = reply.read_at
    return WireTimes(
        sent=reply.sent,
        first_byte=reply.first_byte,
        first_token=read_at[piece_reads[0]],
        done=read_at[-1],
        token_gaps_100us=token_gaps_100us([*map(read_at.__getitem__, piece_reads)]),
    )


def token_gaps_100us(moments: Sequence[float]) -> tuple[int, ...]:
    """Return the time from each of *moments*, in seconds, to the next, in units of 100 us."""
    # Rounded once and then subtracted, so that errors don't add up over an answer.
    at = [int(moment * 10_000.0) for moment in moments]
    return tuple(map(sub, at[1:], at))


def streamed_passages(reply: HttpReply, path: ReplyPath) -> tuple[Passage, ...]:
    """
    Return the passages at *path* in the last event that has any.

    Raises:
        AdapterReplyError: something else than passages stands there.
    """
    if path.expression is None:
        return ()  # without decoding all events once more
    events = events_in(reply.reads, ServerSentEvents())
    for number, (event, _) in reversed([*enumerate(events, 1)]):
        if event.data.strip() not in (b"", DONE):
            value = decode_event(reply, event, number)
            if path.holds(reply, value):
                return path.passages(reply, value)
    return ()
