"""Chat Completions: what is sent, and what is read from a reply in one piece or streamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from replay import Message, TokenLogprobs, Usage, message_fields
from replay_adapters.chat.event_stream import DONE, done_has_come
from replay_adapters.chat.streamed_answer import StreamedAnswer, decoded_events, event_of
from replay_adapters.http.client import StreamEnd
from replay_adapters.http.failures import stream_error
from replay_adapters.http.reply import STUMBLES, HttpReply
from replay_adapters.json_reply import list_under, spelt_out


class Delta(msgspec.Struct, gc=False):
    """What one event adds to the message."""

    content: Any = None
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None


class ChunkChoice(msgspec.Struct, gc=False):
    """One choice of an event; ``text`` is where the older Completions have it."""

    delta: Delta | None = None
    text: Any = None
    finish_reason: Any = None
    logprobs: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One event."""

    choices: list[ChunkChoice] | None = None
    usage: Any = None
    error: Any = None
    metrics: Any = None
    timings: Any = None
    time_info: Any = None
    x_groq: Any = None


FUNCTION = -1
"""The index of the one call that there could be before calls were listed."""
MOST_TOKENS = 10**12
"""No reply has more; sums over a run stay in the 64 bits of a database's numbers."""
TIMED = ("usage", "metrics", "timings", "time_info", "x_groq")
"""Fields in one of which a server may say how long it took."""
ROUNDING = 1e-3
"""So far above 0, the logarithm of certainty, a server's arithmetic may end."""

_chunks = msgspec.json.Decoder(list[Chunk])


class ChatCompletions:
    """How Chat Completions are spoken."""

    path = "/chat/completions"
    messages = "messages"
    has_system_messages = True
    end: StreamEnd = StreamEnd(DONE, done_has_come)
    last_event = '"data: [DONE]" or a finish_reason'

    def __init__(self, *, model: str, stream: bool, stream_usage: bool) -> None:
        self._model = model
        self._stream: dict[str, Any] = {"stream": True} if stream else {}
        if stream and stream_usage:
            self._stream["stream_options"] = {"include_usage": True}

    def fields(
        self, system: str, extra: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the body's fields; the messages in it are those before the history."""
        before = [{"role": "system", "content": system}] if system.strip() else []
        return {**extra, **parameters, **self._stream, "model": self._model, "messages": before}

    def format_messages(self, messages: Sequence[Message]) -> Iterable[Mapping[str, Any]]:
        return map(message_fields, messages)

    def read(self, reply: HttpReply, value: Any) -> StreamedAnswer:
        try:
            choice = value["choices"][0]
            message = choice["message"]
            content = message.get("content")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise reply.unusable(
                " without choices[0].message; check that base_url ends "
                "before /chat/completions and leads to a Chat Completions server",
            ) from error
        found = StreamedAnswer(
            pieces=[text_in(content) or ""],
            finish=choice.get("finish_reason"),
            refused=isinstance(message.get("refusal"), str),
            logprobs=_logprobs(choice),
            told=value,
        )
        _take_calls(message.get("tool_calls"), message.get("function_call"), found)
        found.take_usage(usage_of(value.get("usage")), value.get("usage"), reply.headers)
        return found

    def read_stream(self, reply: HttpReply) -> StreamedAnswer:
        chunks, positions, done = decoded_events(reply, _chunks, _chunk)
        streamed = StreamedAnswer(complete=done)
        logprobs: list[Any] = []
        add_piece, add_read = streamed.pieces.append, streamed.piece_reads.append
        for chunk, read in zip(chunks, positions, strict=True):
            if chunk.choices:
                choice = chunk.choices[0]
                delta = choice.delta
                text = choice.text if delta is None else delta.content
                if text.__class__ is not str:
                    text = text_in(text)
                if text:
                    add_piece(text)
                    add_read(read)
                elif delta is not None:
                    streamed.refused = streamed.refused or bool(spelt_out(delta.refusal))
                    if delta.tool_calls is not None or delta.function_call is not None:
                        _take_calls(delta.tool_calls, delta.function_call, streamed)
                if choice.logprobs is not None:
                    logprobs.append(choice.logprobs)
                if not choice.finish_reason:
                    continue  # as nearly all of them
                streamed.complete = True
                streamed.finish = str(choice.finish_reason)
            _take_rest(reply, chunk, streamed)
        if streamed.usage is None or streamed.finish is None:
            # For what some servers put beside a text: counts up to there, or an error.
            for chunk in chunks:
                _take_rest(reply, chunk, streamed)
        if logprobs:
            streamed.logprobs = logprobs_of([one for item in logprobs for one in _content(item)])
        return streamed


def _take_calls(calls: Any, function: Any, found: StreamedAnswer) -> None:
    """Take *calls*, of a whole reply or of an event, and the *function*, which is what they were before."""
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            _take_call(call.get("index"), call.get("id"), call.get("function"), found)
    if isinstance(function, dict):
        _take_call(FUNCTION, None, function, found)


def _take_call(index: Any, id: Any, function: Any, found: StreamedAnswer) -> None:
    called = function if isinstance(function, dict) else {}
    given = called.get("arguments")
    piece, arguments = (given, None) if isinstance(given, str) else (None, given)
    found.calls.take(index, id=id, name=called.get("name"), piece=piece, arguments=arguments)


def _take_rest(reply: HttpReply, chunk: Chunk, streamed: StreamedAnswer) -> None:
    """
    Take from *chunk* what isn't a choice.

    Raises:
        AdapterError: it tells of an error.
    """
    if chunk.error is not None:
        raise stream_error(reply, chunk.error)
    if chunk.usage is not None:
        streamed.take_usage(usage_of(chunk.usage), chunk.usage)
    for name in TIMED:
        if (found := getattr(chunk, name)) is not None:
            streamed.told = {**(streamed.told or {}), name: found}


def usage_of(
    usage: Any, prompt: str = "prompt_tokens", completion: str = "completion_tokens"
) -> Usage | None:
    """Return the counts in *usage* under those names; None if there are none."""
    if not isinstance(usage, dict):
        return None
    known = [token_count(usage.get(name)) for name in (prompt, completion)]
    if known == [None, None]:
        return None
    details = usage.get(f"{prompt}_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        prompt_tokens=known[0],
        completion_tokens=known[1],
        cached_prompt_tokens=token_count(cached),
    )


def token_count(told: Any) -> int | None:
    """Return *told* as a number of tokens; None if it can't be one."""
    return told if type(told) is int and 0 <= told <= MOST_TOKENS else None


def text_in(content: Any) -> str | None:
    """Return a message's content as a text; some servers send it in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else None


def _chunk(value: Any) -> Chunk:
    """Return an event of any shape, with its first choice."""
    chunk = event_of(Chunk, value)
    chunk.choices = []
    for given in list_under(value, "choices")[:1] if isinstance(value, dict) else ():
        choice = event_of(ChunkChoice, given)
        choice.delta = event_of(Delta, choice.delta) if isinstance(choice.delta, dict) else None
        chunk.choices.append(choice)
    return chunk


def _logprobs(choice: Any) -> tuple[TokenLogprobs, ...] | None:
    """``logprobs.content``; None where it is missing or not as documented."""
    try:
        found = choice.get("logprobs")
        return None if found is None else logprobs_of(found["content"])
    except (KeyError, TypeError, AttributeError):
        return None


def _content(logprobs: Any) -> Sequence[Any]:
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return content if isinstance(content, list) else ()


def logprobs_of(content: Any) -> tuple[TokenLogprobs, ...] | None:
    """Return the log-probabilities in *content*; None if they aren't as documented."""
    try:
        return tuple(
            TokenLogprobs(
                token=str(one["token"]),
                logprob=_logprob(one),
                top=tuple((str(t["token"]), _logprob(t)) for t in one.get("top_logprobs") or ()),
            )
            for one in content
        )
    except STUMBLES:
        return None


def _logprob(token: Any) -> float:
    """
    Raises:
        ValueError, or another of ``STUMBLES``: there is none, or it is no logarithm of a probability.
    """
    logprob = float(token["logprob"])
    if not logprob <= ROUNDING:
        raise ValueError(logprob)
    return logprob
