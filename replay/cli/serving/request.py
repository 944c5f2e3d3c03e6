"""What a server is asked, read from JSON: two kinds of body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeVar

import msgspec

from replay.core.adapter import ChatRequest
from replay.core.conversation import Conversation, Passage
from replay.core.history import Exchange

T = TypeVar("T")

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


class _Part(msgspec.Struct, gc=False):
    text: str


class _Message(msgspec.Struct, gc=False):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Metadata(msgspec.Struct):
    conversation: str | None = None


class _CompletionBody(msgspec.Struct):
    messages: list[_Message]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: int | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    """Anything at all, of which one text is looked for."""


class _Passage(msgspec.Struct, gc=False):
    text: str
    id: str | int | float | None = None
    title: str | None = None


class _QuestionBody(msgspec.Struct):
    question: str
    session_id: str | None = None
    passages: list[str | _Passage] | None = None
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
    spoken = [("system" if m.role == "developer" else m.role, m.text) for m in body.messages]
    system = "\n\n".join(text for role, text in spoken if role == "system")
    talk = [(role, text) for role, text in spoken if role != "system"]
    if not talk or talk[-1][0] != "user":
        raise BadRequest("messages: the last one is not the user's, so there is nothing to answer")
    history = _exchanges(talk[:-1])
    blocks = [block for block in _BLANK_LINE.split(system) if block.strip()]
    return Completion(
        conversation=Conversation(
            id=_named(body.metadata) or _id_of(system),
            turns=(),
            passages=tuple(Passage(id=f"p{number}", text=block) for number, block in enumerate(blocks, 1)),
        ),
        request=ChatRequest(question=talk[-1][1], history=history, depth=len(history) + 1),
        words=sum(len(text.split()) for _, text in spoken),
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
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body can't be understood: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


def _named(metadata: msgspec.Raw) -> str | None:
    """The conversation that *metadata* names."""
    try:
        return msgspec.json.decode(metadata, type=_Metadata).conversation
    except (ValueError, RecursionError):
        return None


def _exchanges(talk: Sequence[tuple[str, str]]) -> tuple[Exchange, ...]:
    """Questions with the answers after them; either may be missing, and is empty then."""
    exchanges: list[Exchange] = []
    question: str | None = None
    for role, text in talk:
        if role == "assistant":
            exchanges.append(Exchange(question=question or "", answer=text))
            question = None
            continue
        if question is not None:
            exchanges.append(Exchange(question=question, answer=""))
        question = text
    if question is not None:
        exchanges.append(Exchange(question=question, answer=""))
    return tuple(exchanges)


def _passage(item: str | _Passage, number: int) -> Passage:
    if isinstance(item, str):
        return Passage(id=f"p{number}", text=item)
    return Passage(id=str(item.id or f"p{number}"), text=item.text, title=item.title or "")


def _id_of(system: str) -> str:
    return "chat-" + sha256(system.encode("utf-8", "surrogatepass")).hexdigest()[:16]
