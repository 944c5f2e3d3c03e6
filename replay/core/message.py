"""
Messages of a chat as endpoints exchange them: how a question was put, and what stands between it and its
answer.

Plain data in the field's terms (OpenAI's Chat Completions; Anthropic's Messages call a tool's answer
``tool_result``); imports nothing of ours.

Calls of tools read from JSON values, in any of the shapes in which APIs, frameworks and logs have them.

Chat Completions put name and arguments below ``function``, Responses beside a ``call_id``, Anthropic calls
the arguments ``input`` and LangChain ``args``. Some give no ids; then a result answers the oldest open call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

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


def tool_call_in(value: Any) -> ToolCall | None:
    """Return the tool call in *value*, with an empty id if it has none; None if it names no tool."""
    if not isinstance(value, Mapping):
        return None
    function = value.get("function")
    called = function if isinstance(function, Mapping) else value
    name = called.get("name")
    if not isinstance(name, str) or not name:
        return None
    given = (called[key] for key in ("arguments", "args", "input") if called.get(key) is not None)
    ids = (value[key] for key in ("call_id", "id") if isinstance(value.get(key), str))
    return ToolCall(id=next(ids, ""), name=name, arguments=json_text(next(given, None)) or "{}")


def json_text(value: Any) -> str:
    """Return *value* if it is a text, else as JSON; an empty text for None."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(value, separators=(",", ":"))


def match_results(steps: Iterable[Message]) -> tuple[Message, ...]:
    """
    Return *steps* with an id for every call, and its call's id and name for each result that has one.

    A result without an id answers the oldest open call of its name, or of any where it has none.
    """
    found: list[Message] = []
    opened: list[ToolCall] = []
    count = 0
    for step in steps:
        calls = []
        for call in step.tool_calls:
            count += 1
            calls.append(call if call.id else replace(call, id=f"call_{count}"))
        opened += calls
        if calls != list(step.tool_calls):
            step = replace(step, tool_calls=tuple(calls))
        if step.role == "tool":
            answered = next((call for call in opened if _answers(step, call)), None)
            if answered is not None:
                opened.remove(answered)
                step = replace(step, tool_call_id=answered.id, name=answered.name)
        found.append(step)
    return tuple(found)


def stray_results(steps: Sequence[Message]) -> list[int]:
    """Return the indices in *steps* of tool results that answer no call before them."""
    called: set[str | None] = set()
    found = []
    for position, step in enumerate(steps):
        called.update(call.id for call in step.tool_calls)
        if step.role == "tool" and step.tool_call_id not in called:
            found.append(position)
    return found


def _answers(result: Message, call: ToolCall) -> bool:
    if result.tool_call_id:
        return result.tool_call_id == call.id
    return result.name in (None, call.name)
