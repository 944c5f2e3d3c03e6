"""
What a server is asked, read from JSON, and what it answers: two kinds of body.

The messages of a Chat Completions request are read as the question that is asked and what came before. A
reply is told as Chat Completions have it, in one piece or as the events of a stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from time import time
from typing import Any, Literal, TypeVar

import msgspec

from replay.core.adapter import ChatReply, ChatRequest
from replay.core.conversation import Conversation, Passage
from replay.core.decoding import decode_as
from replay.core.history import Exchange
from replay.core.message import Message, ToolCall, message_fields

T = TypeVar("T")

_ABOUT_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
"""Fields that reach the system, if its adapter takes parameters: whoever asks runs the tools."""
_BLANK_LINE = re.compile(r"\n\s*\n")


class BadRequest(Exception):
    """The client's mistake; the message says which."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One body of ``/v1/chat/completions``."""

    conversation: Conversation
    """Its passages are the blocks of the system messages, cut at blank lines."""
    request: ChatRequest
    words: int
    """In all messages."""
    stream: bool = False
    """The answer is wanted piece by piece."""
    stream_usage: bool = False
    """With a count of tokens behind the last piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuestion:
    """One body of ``/chat``."""

    question: str
    session_id: str | None
    passages: tuple[Passage, ...]
    conversation: str | None
    """An id for a new session's conversation; the session's own if None."""


class _MessagePart(msgspec.Struct, gc=False):
    text: str


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str


class _ToolCall(msgspec.Struct, gc=False):
    id: str
    function: _Function


class SentMessage(msgspec.Struct, gc=False):
    """One of them, as it came."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_MessagePart] | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class AskedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What the messages come to."""

    question: str
    history: tuple[Exchange, ...]
    steps: tuple[Message, ...]
    """Calls of tools since the question, and their results."""
    system: str
    """All instructions, with blank lines between them."""
    words: int
    """In all messages."""


def read_messages(sent: Sequence[SentMessage]) -> AskedQuestion:
    """
    Return the question and what comes before it from the messages of a request.

    Raises:
        BadRequest: one lacks what its role needs, or nothing waits for an answer.
    """
    for number, one in enumerate(sent):
        if one.content is None and not (one.role == "assistant" and one.tool_calls):
            raise BadRequest(f"messages[{number}]: a message of the role {one.role} needs content")
        if one.role == "tool" and one.tool_call_id is None:
            raise BadRequest(
                f"messages[{number}]: a tool's result needs tool_call_id, the call that it answers"
            )
    instructions = [one.text for one in sent if one.role in ("system", "developer")]
    talk = [one for one in sent if one.role not in ("system", "developer")]
    exchanges: list[Exchange] = []
    question: str | None = None
    steps: list[Message] = []
    for one in talk:
        if one.role == "tool" or one.tool_calls:
            steps.append(_step(one))
        elif one.role == "assistant":
            exchanges.append(Exchange(question=question or "", answer=one.text, steps=tuple(steps)))
            question, steps = None, []
        else:
            if question is not None or steps:
                exchanges.append(Exchange(question=question or "", answer="", steps=tuple(steps)))
            question, steps = one.text, []
    if question is None or talk[-1].role == "assistant":
        raise BadRequest(
            "messages: the last is not the user's, nor a tool's result, so there is nothing to answer"
        )
    return AskedQuestion(
        question=question,
        history=tuple(exchanges),
        steps=tuple(steps),
        system="\n\n".join(instructions),
        words=sum(len(one.text.split()) for one in sent),
    )


def _step(sent: SentMessage) -> Message:
    calls = [
        ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments)
        for call in sent.tool_calls or ()
    ]
    return Message(
        role=sent.role,
        text=sent.text,
        tool_calls=tuple(calls),
        tool_call_id=sent.tool_call_id,
        name=sent.name,
    )


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Metadata(msgspec.Struct):
    conversation: str | None = None


class _CompletionBody(msgspec.Struct):
    messages: list[SentMessage]
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: int | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    """Anything at all, of which one text is looked for."""


class _QuestionPassage(msgspec.Struct, gc=False):
    text: str
    id: str | int | float | None = None
    title: str | None = None


class _QuestionBody(msgspec.Struct):
    question: str
    session_id: str | None = None
    passages: list[str | _QuestionPassage] | None = None
    conversation: str | None = None


def read_completion(content: bytes) -> Completion:
    """
    Parse the body of a chat completion request.

    Raises:
        BadRequest: *content* is not such a request, or asks for what is not offered.
    """
    body = _decode_body(content, _CompletionBody)
    if body.stream_options is not None and not body.stream:
        raise BadRequest('stream_options is not beside "stream": true')
    if body.n not in (None, 1):
        raise BadRequest("n: one answer at a time is all there is")
    asked = read_messages(body.messages)
    blocks = [block for block in _BLANK_LINE.split(asked.system) if block.strip()]
    about_tools = {name: getattr(body, name) for name in _ABOUT_TOOLS}
    return Completion(
        conversation=Conversation(
            id=_conversation_id(body.metadata) or _id_of(asked.system),
            turns=(),
            passages=tuple(Passage(id=f"p{number}", text=block) for number, block in enumerate(blocks, 1)),
        ),
        request=ChatRequest(
            question=asked.question,
            history=asked.history,
            depth=len(asked.history) + 1,
            steps=asked.steps,
            parameters={name: value for name, value in about_tools.items() if value is not None},
            runs_tools=True,
        ),
        words=asked.words,
        stream=bool(body.stream),
        stream_usage=body.stream_options is not None and body.stream_options.include_usage is True,
    )


def read_question(content: bytes) -> ChatQuestion:
    """
    Parse the body of a request to ``/chat``.

    Raises:
        BadRequest: *content* is not a question.
    """
    body = _decode_body(content, _QuestionBody)
    if not body.question.strip():
        raise BadRequest("question is empty")
    return ChatQuestion(
        question=body.question,
        session_id=body.session_id or None,
        passages=tuple(_passage(item, number) for number, item in enumerate(body.passages or (), 1)),
        conversation=body.conversation or None,
    )


def _decode_body(content: bytes, kind: type[T]) -> T:
    """
    Return *content* as one of *kind*; what nobody looks at isn't made, however much of it there is.

    Raises:
        BadRequest: it is none.
    """
    try:
        return decode_as(content, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body can't be understood: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


def _conversation_id(metadata: msgspec.Raw) -> str | None:
    """Return the conversation that *metadata* names."""
    try:
        return decode_as(metadata, _Metadata).conversation
    except (ValueError, RecursionError):
        return None


def _passage(item: str | _QuestionPassage, number: int) -> Passage:
    if isinstance(item, str):
        return Passage(id=f"p{number}", text=item)
    return Passage(id=str(item.id or f"p{number}"), text=item.text, title=item.title or "")


def _id_of(system: str) -> str:
    return "chat-" + sha256(system.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_WORD = re.compile(r"\s*\S+(?:\s+\Z)?|\s+")
"""With the space before it, as models' tokens have it."""


def completion(name: str, number: int, asked: Completion, reply: ChatReply) -> dict[str, Any]:
    """Return *reply* in one piece; the *number*-th of the model *name*."""
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time()),
        "model": name,
        "choices": [
            {"index": 0, "message": message_fields(_message(reply)), "finish_reason": _finish(reply)}
        ],
        "usage": _usage(asked, reply),
        "passages": passages(reply),
    }


def completion_events(name: str, number: int, asked: Completion, reply: ChatReply) -> Iterator[bytes]:
    """
    Yield *reply* as server-sent events, one for each word and each call of a tool.

    The passages stand in the event with the finish reason.
    """
    base = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": int(time()),
        "model": name,
    }
    calls = message_fields(_message(reply)).get("tool_calls", [])
    pieces: list[dict[str, Any]] = [{"content": word} for word in _WORD.findall(reply.text)]
    pieces += [{"tool_calls": [{"index": index, **call}]} for index, call in enumerate(calls)]
    role = {"role": "assistant"}
    for piece in pieces or [{"content": ""}]:
        choice = {"index": 0, "delta": {**role, **piece}, "finish_reason": None}
        yield _event({**base, "choices": [choice]})
        role = {}
    last = {"index": 0, "delta": {}, "finish_reason": _finish(reply)}
    yield _event({**base, "choices": [last], "passages": passages(reply)})
    if asked.stream_usage:
        yield _event({**base, "choices": [], "usage": _usage(asked, reply)})
    yield b"data: [DONE]\n\n"


def passages(reply: ChatReply) -> list[dict[str, str]]:
    """Return the passages that the system used."""
    return [{"id": p.id, "title": p.title, "text": p.text} for p in reply.passages]


def _message(reply: ChatReply) -> Message:
    return Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)


def _finish(reply: ChatReply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _usage(asked: Completion, reply: ChatReply) -> dict[str, int]:
    if reply.usage is not None:
        prompt, completion = reply.usage.prompt_tokens or 0, reply.usage.completion_tokens or 0
    else:
        # Words between spaces, since a system without a tokenizer has no tokens to count.
        prompt, completion = asked.words, len(reply.text.split())
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
