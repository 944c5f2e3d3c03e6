"""
Messages of a chat as endpoints exchange them: how a question was put, and what stands between it and its
answer.

Plain data in the field's terms (OpenAI's Chat Completions; Anthropic's Messages call a tool's answer
``tool_result``); imports nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

Role = Literal["system", "developer", "user", "assistant", "tool"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A system's wish to have a tool called."""

    id: str
    """As the system gave it; its result names it again."""
    name: str
    arguments: str
    """JSON text as the system wrote it, which need not be JSON at all."""

    @property
    def parsed_arguments(self) -> Any:
        """The arguments as a JSON value; the text itself where it is no JSON."""
        try:
            return msgspec.json.decode(self.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return self.arguments


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant: the calls it asks for, in order."""
    tool_call_id: str | None = None
    """Of a tool: the call that it answers."""
    name: str | None = None
    """Of a tool: what it is called, where that is known."""
    left_out: tuple[str, ...] = ()
    """Kinds of content that are no text (``image_url``, ...), in order: named here, kept nowhere."""


def join_texts(texts: Iterable[str]) -> str:
    """Return *texts* joined with line breaks, without blank ones."""
    return "\n".join(text for text in texts if text.strip())


def instructions(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return those of *messages* with the role ``system`` or ``developer``, in order."""
    return tuple(message for message in messages if message.role in ("system", "developer"))


def question_messages(question: str, asked_with: Sequence[Message]) -> tuple[Message, ...]:
    """
    Return the messages that ask *question*: the recorded ones of *asked_with*, and the question itself.

    User messages among them are the recorded question in the pieces in which it came. They stay several where
    *question* begins as they do, so that at most the last was edited; else one message takes their place.
    """
    asked = Message(role="user", text=question)
    places = [place for place, message in enumerate(asked_with) if message.role == "user"]
    if not places:
        return (*asked_with, asked)
    *earlier, last = places
    begin = "".join(f"{asked_with[place].text}\n" for place in earlier)
    if question.startswith(begin) and question[len(begin) :].strip():
        asked, earlier = Message(role="user", text=question[len(begin) :]), []
    return tuple(
        asked if place == last else message
        for place, message in enumerate(asked_with)
        if place not in earlier
    )


def message_fields(message: Message) -> dict[str, Any]:
    """Return *message* as a JSON object in the format of Chat Completions."""
    fields: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        fields["content"] = message.text or None
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id
        if message.name is not None:
            fields["name"] = message.name
    return fields


def pair_calls(steps: Sequence[Message]) -> tuple[Message, ...]:
    """
    Return *steps* with calls and results paired: calls without a result, and results without, are dropped.

    Endpoints refuse both. An assistant's message that had nothing but such calls is left out with them.
    """
    kept: list[Message] = []
    position = 0
    while position < len(steps):
        step = steps[position]
        position += 1
        if step.role == "tool" or not (step.tool_calls or step.text.strip()):
            continue
        results: dict[str | None, Message] = {}
        while step.tool_calls and position < len(steps) and steps[position].role == "tool":
            results.setdefault(steps[position].tool_call_id, steps[position])
            position += 1
        calls = tuple(call for call in step.tool_calls if call.id in results)
        if calls or step.text.strip():
            kept.append(step if calls == step.tool_calls else msgspec.structs.replace(step, tool_calls=calls))
        kept += [result for id, result in results.items() if any(call.id == id for call in calls)]
    return tuple(kept)
