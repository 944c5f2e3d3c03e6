"""What a server is asked, read from JSON: two kinds of body."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from replay.cli.serving.messages import SentMessage, read_messages
from replay.cli.serving.refusal import BadRequest
from replay.core.adapter import ChatRequest
from replay.core.conversation import Conversation, Passage
from replay.core.decoding import decode_as

T = TypeVar("T")

_ABOUT_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
"""Fields that reach the system, if its adapter takes parameters: whoever asks runs the tools."""
_BLANK_LINE = re.compile(r"\n\s*\n")


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
    Raises:
        BadRequest: *content* is not a chat completion request, or one for what is not offered.
    """
    body = _decoded(content, _CompletionBody)
    if body.stream_options is not None and not body.stream:
        raise BadRequest('stream_options is not beside "stream": true')
    if body.n not in (None, 1):
        raise BadRequest("n: one answer at a time is all there is")
    asked = read_messages(body.messages)
    blocks = [block for block in _BLANK_LINE.split(asked.system) if block.strip()]
    about_tools = {name: getattr(body, name) for name in _ABOUT_TOOLS}
    return Completion(
        conversation=Conversation(
            id=_named(body.metadata) or _id_of(asked.system),
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
    Raises:
        BadRequest: *content* is not a question.
    """
    body = _decoded(content, _QuestionBody)
    if not body.question.strip():
        raise BadRequest("question is empty")
    return ChatQuestion(
        question=body.question,
        session_id=body.session_id or None,
        passages=tuple(_passage(item, number) for number, item in enumerate(body.passages or (), 1)),
        conversation=body.conversation or None,
    )


def _decoded(content: bytes, kind: type[T]) -> T:
    """
    *content* as one of *kind*; what nobody looks at isn't made, however much of it there is.

    Raises:
        BadRequest: it is none.
    """
    try:
        return decode_as(content, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body can't be understood: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


def _named(metadata: msgspec.Raw) -> str | None:
    """The conversation that *metadata* names."""
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
