"""Steps as systems report them: messages of Chat Completions, or calls of tools with their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from replay import Message, json_text, match_results, tool_call_in

RESULTS = ("result", "output")
"""Under which a call has its result, where that stands beside it."""


def steps_of(items: Sequence[Any]) -> tuple[Message, ...] | None:
    """Return *items* as steps, or None if they can't all be steps."""
    steps: list[Message] = []
    for item in items:
        if isinstance(item, Message):
            steps.append(item)
            continue
        if isinstance(item, Mapping) and _goes_on(item, steps):
            continue
        found = _steps_in(item) if isinstance(item, Mapping) else None
        if found is None:
            return None
        steps += found
    return match_results(steps)


def _goes_on(item: Mapping[str, Any], steps: list[Message]) -> bool:
    """Return whether *item* is a further piece of the arguments of a call in *steps*, which then has it."""
    id, piece = item.get("id"), item.get("arguments")
    if not isinstance(id, str) or not isinstance(piece, str) or "name" in item or "role" in item:
        return False
    for position in reversed(range(len(steps))):
        for call in steps[position].tool_calls:
            if call.id == id:
                # "{}" stands for none yet.
                whole = replace(call, arguments=call.arguments.removeprefix("{}") + piece)
                calls = tuple(whole if one is call else one for one in steps[position].tool_calls)
                steps[position] = replace(steps[position], tool_calls=calls)
                return True
    return False


def _steps_in(item: Mapping[str, Any]) -> list[Message] | None:
    role, name = item.get("role"), item.get("name")
    if role == "tool":
        id, name = (one if isinstance(one, str) else None for one in (item.get("tool_call_id"), name))
        return [Message(role="tool", text=json_text(item.get("content")), tool_call_id=id, name=name)]
    if role == "assistant":
        listed = item.get("tool_calls") or []
        calls = [tool_call_in(one) for one in listed] if isinstance(listed, list) else [None]
        known = tuple(call for call in calls if call is not None)
        text = json_text(item.get("content"))
        return [Message(role="assistant", text=text, tool_calls=known)] if len(known) == len(calls) else None
    call = tool_call_in(item) if role is None else None
    if call is None:
        return None
    results = [item[key] for key in RESULTS if item.get(key) is not None]
    return [
        Message(role="assistant", tool_calls=(call,)),
        *(Message(role="tool", text=json_text(result), name=call.name) for result in results[:1]),
    ]
