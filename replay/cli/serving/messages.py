"""The messages of a Chat Completions request, read as the question that is asked and what came before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from replay.cli.serving.refusal import BadRequest
from replay.core.history import Exchange
from replay.core.message import Message, ToolCall


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
