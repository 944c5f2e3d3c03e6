"""What a server is asked, read from JSON: two kinds of body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from replay.core.adapter import ChatRequest
from replay.core.conversation import Conversation, Passage
from replay.core.history import Exchange

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


def read_completion(body: Any) -> Completion:
    """
    Raises:
        BadRequest: *body* is not a chat completion request, or one for what is not offered.
    """
    if not isinstance(body, Mapping):
        raise BadRequest("the body is not a JSON object")
    stream = body.get("stream")
    if not isinstance(stream, bool | None):
        raise BadRequest("stream is neither true nor false")
    options = body.get("stream_options")
    if options is not None and not (stream and isinstance(options, Mapping)):
        raise BadRequest('stream_options is not an object beside "stream": true')
    if body.get("n") not in (None, 1):
        raise BadRequest("n: one answer at a time is all there is")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages is not a list with at least one message")
    spoken = [_message(message, f"messages[{number}]") for number, message in enumerate(messages)]
    system = "\n\n".join(text for role, text in spoken if role == "system")
    talk = [(role, text) for role, text in spoken if role != "system"]
    if not talk or talk[-1][0] != "user":
        raise BadRequest("messages: the last one is not the user's, so there is nothing to answer")
    history = _exchanges(talk[:-1])
    metadata = body.get("metadata")
    named = metadata.get("conversation") if isinstance(metadata, Mapping) else None
    blocks = [block for block in _BLANK_LINE.split(system) if block.strip()]
    return Completion(
        conversation=Conversation(
            id=named if isinstance(named, str) and named else _id_of(system),
            turns=(),
            passages=tuple(Passage(id=f"p{number}", text=block) for number, block in enumerate(blocks, 1)),
        ),
        request=ChatRequest(question=talk[-1][1], history=history, depth=len(history) + 1),
        words=sum(len(text.split()) for _, text in spoken),
        stream=bool(stream),
        stream_usage=options is not None and options.get("include_usage") is True,
    )


def read_question(body: Any) -> ChatQuestion:
    """
    Raises:
        BadRequest: *body* is not a question.
    """
    if not isinstance(body, Mapping):
        raise BadRequest("the body is not a JSON object")
    question = body.get("question")
    if not isinstance(question, str) or not question.strip():
        raise BadRequest("question is not a text")
    for name in ("session_id", "conversation"):
        if not isinstance(body.get(name), str | None):
            raise BadRequest(f"{name} is not a text")
    passages = body.get("passages")
    if not isinstance(passages, list | None):
        raise BadRequest("passages is not a list")
    return ChatQuestion(
        question=question,
        session_id=body.get("session_id") or None,
        passages=tuple(_passage(item, number) for number, item in enumerate(passages or (), 1)),
        conversation=body.get("conversation") or None,
    )


def _message(message: Any, place: str) -> tuple[str, str]:
    """Role (``developer`` is ``system``) and text."""
    if not isinstance(message, Mapping):
        raise BadRequest(f"{place} is not an object with role and content")
    role = message.get("role")
    if role == "developer":
        role = "system"
    if role not in ("system", "user", "assistant"):
        raise BadRequest(f"{place}.role: {role!r} is none of system, developer, user and assistant")
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else None for part in content]
        if not all(isinstance(part, str) for part in parts):
            raise BadRequest(f"{place}.content: only parts with a text are understood")
        content = "".join(map(str, parts))
    if not isinstance(content, str):
        raise BadRequest(f"{place}.content is not a text")
    return str(role), content


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


def _passage(item: Any, number: int) -> Passage:
    if isinstance(item, str):
        return Passage(id=f"p{number}", text=item)
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        return Passage(
            id=str(item.get("id") or f"p{number}"), text=item["text"], title=str(item.get("title") or "")
        )
    raise BadRequest(f"passages[{number - 1}] is neither a text nor an object with a text")


def _id_of(system: str) -> str:
    return "chat-" + sha256(system.encode("utf-8", "surrogatepass")).hexdigest()[:16]
