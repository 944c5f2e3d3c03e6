"""
Calls of tools read from JSON values, in any of the shapes in which APIs, frameworks and logs have them.

Chat Completions put name and arguments below ``function``, Responses beside a ``call_id``, Anthropic calls
the arguments ``input`` and LangChain ``args``. Some give no ids; then a result answers the oldest open call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from replay.core.message import Message, ToolCall


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
