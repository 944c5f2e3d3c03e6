"""
A message of a chat log: its text, the tools that it calls or answers, and what of it is neither.

The content is a text or a list of parts. Calls and results are parts of a content (Anthropic), fields beside
it (Chat Completions, LangChain, Ollama), or messages without a role (the items of Responses).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from replay.core.message import Message, ToolCall, join_texts
from replay.core.message_reading import json_text, tool_call_in
from replay.datasets.place import SourceLocation
from replay.datasets.typed_json import decode

BESIDE = ("tool_call_id", "name", "tool_name", "type", "id", "call_id", "arguments", "output")
"""Fields of messages that say more of calls and results, where nothing else is called so."""
_TEXT_PARTS = ("", "text", "input_text", "output_text")
_ANYTHING = msgspec.json.Decoder(Any)
_CALLS = ("tool_use", "function_call")
_RESULTS = ("tool_result", "function_call_output")


class ContentPart(msgspec.Struct):
    """One part of a content; which of the fields it has depends on its type."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None
    id: Any = None
    call_id: Any = None
    tool_use_id: Any = None
    name: Any = None
    input: Any = None
    arguments: Any = None
    content: Any = None
    output: Any = None
    value: Any = None
    """LLaMA-Factory's: the text, or a call as JSON text."""


Content = str | list[str | ContentPart] | None


@dataclass(slots=True)
class ParsedMessage:
    """What a message says."""

    texts: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Parts of other kinds."""
    calls: list[ToolCall] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        return join_texts(self.texts)


def parse_content(content: Content, place: SourceLocation, at: str) -> ParsedMessage:
    """
    Return the texts, calls and results in *content*, and what is left out of it.

    Args:
        content: The content of a message: a text, a list of parts, or None.
        place: Where the message is, for errors.
        at: The field with the content, for errors.

    Raises:
        DatasetError: a part lacks what its type promises.
    """
    said = ParsedMessage()
    for index, part in enumerate([content or ""] if isinstance(content, str | None) else content):
        if isinstance(part, str):
            said.texts.append(part)
        elif part.type in (*_TEXT_PARTS, "refusal"):
            text = part.refusal if part.type == "refusal" else part.text
            text = part.value if text is None else text
            if not isinstance(text, str):
                raise place.error("is a text part without a text", f"{at}[{index}]")
            said.texts.append(text)
        else:
            _take(part, said, place, f"{at}[{index}]")
    return said


def parse_message(
    message: Any, content: Content, place: SourceLocation, at: str, content_at: str
) -> ParsedMessage:
    """
    Return the texts and tool calls of *message*, from its content and its other fields.

    Args:
        message: The message.
        content: Its content.
        place: Where the conversation is, for errors.
        at: The field with the message, for errors.
        content_at: The field with its content, for errors.

    Raises:
        DatasetError: a part or a call lacks what it must have.
    """
    said = parse_content(content, place, content_at)
    calls = [(f"tool_calls[{number}]", call) for number, call in enumerate(message.tool_calls or ())]
    if message.function_call:
        calls.append(("function_call", message.function_call))
    for name, call in calls:
        said.calls.append(_call(call, place, f"{at}.{name}"))
    if content is None and message.refusal:
        said.texts.append(message.refusal)
    return said


def calls_in_text(said: ParsedMessage, place: SourceLocation, at: str) -> ParsedMessage:
    """
    Return the tool calls in a message whose text is a call as JSON, or a list of calls.

    Raises:
        DatasetError: the text is not JSON, or a call has no name.
    """
    given = decode(_ANYTHING, said.text.encode(errors="replace"), place, at)
    calls = given if isinstance(given, list) else [given]
    return ParsedMessage(left_out=said.left_out, calls=[_call(call, place, at) for call in calls])


def item_of(message: Any, place: SourceLocation, at: str) -> tuple[str, ParsedMessage] | None:
    """
    Return role and content of a typed item of the Responses API; None for any other message.

    Raises:
        DatasetError: it is a call without a name.
    """
    type = getattr(message, "type", None)
    if not isinstance(type, str) or not type:
        return None
    said = ParsedMessage()
    fields = ("id", "call_id", "name", "arguments", "output")
    _take(ContentPart(type=type, **{name: getattr(message, name, None) for name in fields}), said, place, at)
    return ("tool" if said.results else "assistant"), said


def tool_message(message: Any, said: ParsedMessage) -> Message:
    """Return the result that a *message* of the role ``tool`` or ``function`` is."""
    id, name, other = (getattr(message, field, None) for field in ("tool_call_id", "name", "tool_name"))
    name = name or other
    return Message(
        role="tool",
        text=said.text,
        tool_call_id=id if isinstance(id, str) else None,
        name=name if isinstance(name, str) else None,
        left_out=tuple(said.left_out.elements()),
    )


def _take(part: ContentPart, said: ParsedMessage, place: SourceLocation, at: str) -> None:
    if part.type == "tool_call" and isinstance(part.value, str):
        said.calls += calls_in_text(ParsedMessage(texts=[part.value]), place, at).calls
    elif part.type in _CALLS:
        said.calls.append(_call(msgspec.structs.asdict(part), place, at))
    elif part.type in _RESULTS:
        said.results.append(_result(part))
    else:
        said.left_out[part.type] += 1


def _call(value: Any, place: SourceLocation, at: str) -> ToolCall:
    call = tool_call_in(value)
    if call is None:
        raise place.error("is a call of a tool without its name", at)
    return call


def _result(part: ContentPart) -> Message:
    given = part.output if part.content is None else part.content
    listed = given if isinstance(given, list) else []
    parts = [one for one in listed if isinstance(one, dict) and isinstance(one.get("type"), str)]
    texts = [one["text"] for one in parts if isinstance(one.get("text"), str)]
    is_in_parts = bool(parts) and len(parts) == len(listed)
    id = part.tool_use_id or part.call_id
    return Message(
        role="tool",
        text=join_texts(texts) if is_in_parts else json_text(given),
        tool_call_id=id if isinstance(id, str) else None,
        left_out=tuple(one["type"] for one in parts if is_in_parts and not isinstance(one.get("text"), str)),
    )
