"""
Traces: what a model was sent and what it returned, call by call, put together as conversations.

Most programs send the whole history with each call, some only its end, and where the provider keeps it only
what is new. So each call's messages are laid onto what the conversation's calls before have told: a call that
begins with the same question tells all of it again, and is taken at its word; else what it repeats of the end
is found and passed over.

What a traced call was given and returned, in the shapes that are kept of it: requests and replies of
endpoints, messages and generations of LangChain, plain texts, and all of that as JSON text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, takewhile
from typing import Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.core.message import json_text
from replay.datasets.chat_log import (
    ChatLogParser,
    Content,
    ParsedMessage,
    item_of,
    parse_message,
    tool_message,
)
from replay.datasets.data_file import TOO_DEEP, SourceLocation, decode
from replay.datasets.reader import conversations

_INSTRUCTIONS = ("system", "developer")


@dataclass(slots=True)
class TracedMessage:
    """A message of a call."""

    role: str
    said: ParsedMessage
    at: Any = None
    """When, in seconds or ISO 8601, where that is known."""

    @property
    def content(self) -> tuple[Any, ...]:
        """Return what two copies of one message have in common; one may lack the ids of calls."""
        calls = [(call.name, call.parsed_arguments) for call in self.said.calls]
        return self.role, self.said.text, calls, [result.text for result in self.said.results]


@dataclass(slots=True, kw_only=True)
class ModelCall:
    """One call of a model."""

    conversation: str
    started: float | str
    """Sorts a conversation's calls."""
    place: SourceLocation
    messages: list[TracedMessage]
    answers: list[TracedMessage]
    scores: Sequence[dict[str, Any]] = ()
    """What people or checks said of it, each with a ``name`` and a ``value``."""

    def set_times(self, started: Any, ended: Any) -> None:
        """The last question came when the call *started*, its answers when it *ended*; None where unknown."""
        for message in [one for one in self.messages if one.role == "user"][-1:]:
            message.at = started
        for message in self.answers:
            message.at = ended


@dataclass(slots=True)
class _CallHistory:
    """What a conversation's calls have told so far."""

    instructions: list[TracedMessage] = field(default_factory=list)
    messages: list[TracedMessage] = field(default_factory=list)

    def add(self, call: ModelCall) -> None:
        instructions = list(takewhile(lambda one: one.role in _INSTRUCTIONS, call.messages))
        sent = call.messages[len(instructions) :]
        known, repeated = self._overlap(sent)
        new = sent[repeated:]
        unchanged = [one.content for one in instructions] == [one.content for one in self.instructions]
        # Instructions that change between the steps of one turn (the time of day) would stand between a call
        # of a tool and its result.
        if instructions and not unchanged and (not self.messages or any(one.role == "user" for one in new)):
            self.instructions = instructions
            new = [*instructions, *new]
        self.messages[known:] = [*new, *call.answers]

    def _overlap(self, sent: Sequence[TracedMessage]) -> tuple[int, int]:
        """Return how many of the messages so far stay, and how many of *sent* are among them."""
        told = [(at, one.content) for at, one in enumerate(self.messages) if one.role not in _INSTRUCTIONS]
        again = [one.content for one in sent]
        questions = [content for _, content in told if content[0] == "user"]
        asked = [content for content in again if content[0] == "user"]
        if questions and asked[:1] == questions[:1] and len(asked) >= len(questions):
            same = 0
            while same < min(len(told), len(again)) and told[same][1] == again[same]:
                same += 1
            return (told[same][0] if same < len(told) else len(self.messages)), same
        contents = [content for _, content in told]
        sizes = range(min(len(told), len(again)), 0, -1)
        return len(self.messages), next((size for size in sizes if contents[-size:] == again[:size]), 0)


def conversations_of(
    calls: Iterable[ModelCall | tuple[str, DatasetError]],
) -> Iterator[Conversation | DatasetError]:
    """Yield the conversations of *calls*, in the order of their first call; an unreadable one as an error."""
    found: dict[str, list[ModelCall] | DatasetError] = {}
    for call in calls:
        if isinstance(call, tuple):
            found[call[0]] = call[1]
            continue
        others = found.setdefault(call.conversation, [])
        if isinstance(others, list):
            others.append(call)
    for calls_or_fault in found.values():
        if isinstance(calls_or_fault, DatasetError):
            yield calls_or_fault
        else:
            yield from conversations([(calls_or_fault[0].place, calls_or_fault)], _build)


def _build(calls: list[ModelCall], place: SourceLocation) -> Conversation:
    told = _CallHistory()
    for call in sorted(calls, key=lambda call: call.started):
        told.add(call)
    story = ChatLogParser()
    for one in told.messages:
        story.tell(one.role, one.said, one.at)
    scores: list[dict[str, Any]] = []
    for score in (score for call in calls for score in call.scores):
        if score not in scores:  # those of a trace stand at each of its calls
            scores.append(score)
    return story.conversation(calls[0].conversation, {"scores": scores} if scores else {}, place)


_ROLES = {
    **dict.fromkeys(("user", "human", "HumanMessage", "HumanMessageChunk"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "AIMessage", "AIMessageChunk"), "assistant"),
    **dict.fromkeys(("system", "SystemMessage", "SystemMessageChunk"), "system"),
    **dict.fromkeys(("tool", "function", "ToolMessage", "ToolMessageChunk", "FunctionMessage"), "tool"),
    "developer": "developer",
}
_ONE_OF_SEVERAL = ("choices", "generations", "candidates")
"""Of several answers the program had to take one: the first."""
_WITHIN = (
    *("messages", "message", *_ONE_OF_SEVERAL, "contents", "content", "output", "outputs", "text"),
    *("answer", "response", "completion", "result"),
    *("input", "inputs", "question", "query", "prompt", "user_input", "args", "kwargs"),
)
"""Where in an object the messages or the text are, the surest first."""


class _Message(msgspec.Struct):
    role: str | None = None
    content: Content = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    tool_call_id: Any = None
    name: Any = None
    type: Any = None
    id: Any = None
    call_id: Any = None
    arguments: Any = None
    output: Any = None


_MESSAGE = decoder_of(_Message)


def messages_in(value: Any, place: SourceLocation, at: str, role: str = "user") -> list[TracedMessage]:
    """
    Return the messages in *value*, the field *at*; a text alone has the role *role*.

    Raises:
        DatasetError: there are neither messages nor a text in it.
    """
    try:
        return _messages_in(value, place, at, role)
    except RecursionError as error:
        raise place.error(TOO_DEEP, at) from error


def _messages_in(value: Any, place: SourceLocation, at: str, role: str) -> list[TracedMessage]:
    value = _messages_or_text(value)
    if value in (None, "", [], {}):
        return []
    match value:
        case str():
            return [TracedMessage(role, ParsedMessage(texts=[value]))]
        case [list() as first, *_]:  # LangChain keeps a list for each prompt of a batch
            return _messages_in(first, place, f"{at}[0]", role)
        case list():
            found = (_messages_in(item, place, f"{at}[{number}]", role) for number, item in enumerate(value))
            return [*chain.from_iterable(found)]
        case {"role": "tool", "content": {"function": dict()}}:
            return []  # a tool that the model may call, as Langfuse lists them behind LangChain's messages
        case dict() if message := _message(value, place, at):
            return [message]
        case dict():
            told = _instructions(value) if role == "user" else ()
            return [*told, *_within(value, place, at, role)]
    raise place.error("holds neither messages nor a text", at)


def parse_json_value(value: Any) -> Any:
    """Return the object or list whose JSON text *value* is; else *value*."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return msgspec.json.decode(value)
    return value


def _messages_or_text(value: Any) -> Any:
    """Return the messages in *value*, if it is their JSON text; else *value*."""
    if (found := parse_json_value(value)) is value:
        return value
    items = found if isinstance(found, list) else [found]
    items = items[0] if items and isinstance(items[0], list) else items
    known = {"role", "type", "lc", *_WITHIN}
    return found if items and all(isinstance(one, dict) and known & one.keys() for one in items) else value


def _message(value: Mapping[str, Any], place: SourceLocation, at: str) -> TracedMessage | None:
    fields = dict(value)
    match value:
        case {"lc": _, "id": [*_, str(kind)], "kwargs": dict(fields)}:
            fields = {**fields, "role": fields.get("role", kind)}  # a ChatMessage names its own
        case {"type": str(kind), "data": dict(fields)} if kind in _ROLES:
            fields = {**fields, "role": kind}
        case {"type": str(kind), "content": _} if kind in _ROLES and "role" not in value:
            fields = {**fields, "role": kind}
    more = fields.get("additional_kwargs")
    if isinstance(more, dict) and not fields.get("tool_calls"):
        fields |= {name: more[name] for name in ("tool_calls", "function_call") if more.get(name)}
    if isinstance(parts := fields.get("parts"), list):
        fields["content"] = [_part(part) for part in parts]
    elif _is_data(fields.get("content")):
        fields["content"] = json_text(fields["content"])
    if not isinstance(fields.get("role"), str):
        if fields.get("type") not in ("function_call", "function_call_output", "reasoning"):
            return None
        item = item_of(decode(_MESSAGE, msgspec.json.encode(fields), place, at), place, at)
        return None if item is None else TracedMessage(*item)
    # LangChain's JavaScript has a tool's name in place of its role.
    role = _ROLES.get(fields["role"], "tool" if "additional_kwargs" in fields else None)
    if role is None:
        raise place.error(f'"{fields["role"]:.60}" is not a role that is known', f"{at}.role")
    message = decode(_MESSAGE, msgspec.json.encode(fields), place, at)
    said = parse_message(message, message.content, place, at, f"{at}.content")
    # LangChain has a call of Anthropic's among the parts and beside them.
    said.calls = list({call.id or number: call for number, call in enumerate(said.calls)}.values())
    if role == "tool" and not said.results:
        said.results.append(tool_message(message, said))
    return TracedMessage(role, said)


def _part(part: Any) -> Any:
    """Return *part* of a message of Gemini, or of OpenTelemetry's conventions, as a content has it."""
    match part:
        case {"function_call": dict(call)} | {"functionCall": dict(call)}:
            return {**call, "type": "function_call", "arguments": call.get("args")}
        case {"function_response": dict(given)} | {"functionResponse": dict(given)}:
            return {"type": "function_call_output", "output": given.get("response")}
        case {"type": "tool_call"}:
            return {**part, "type": "function_call"}
        case {"type": "tool_call_response"}:
            given = part.get("result", part.get("response"))
            return {"type": "function_call_output", "call_id": part.get("id"), "output": given}
        case {"type": "text", "content": str(text)} | {"text": str(text)}:
            return text
        case {"type": str(kind)}:
            return {"type": kind}
        case dict():
            return {"type": next(iter(part), "empty")}
    return part


def _is_data(content: Any) -> bool:
    """Return whether it is what a tool has returned as a value, and neither a text nor parts."""
    parts = content if isinstance(content, list) else ()
    return isinstance(content, dict) or any(
        isinstance(part, dict) and not {"type", "text"} & part.keys() for part in parts
    )


def _instructions(value: Mapping[str, Any]) -> Iterator[TracedMessage]:
    """Anthropic, Responses and Gemini have them beside the messages."""
    within = value.get("config")
    for fields in (value, within if isinstance(within, dict) else {}):
        for name in ("system", "instructions", "system_instruction"):
            if isinstance(text := fields.get(name), str) and text.strip():
                yield TracedMessage("system", ParsedMessage(texts=[text]))


def _within(value: Mapping[str, Any], place: SourceLocation, at: str, role: str) -> list[TracedMessage]:
    name = next((name for name in _WITHIN if value.get(name) not in (None, "", [], {})), None)
    if name is None:
        raise place.error(f"holds neither messages nor a text (found: {', '.join(value)})", at)
    inner = value[name]
    while name in _ONE_OF_SEVERAL and isinstance(inner, list) and inner:
        inner = inner[0]
    return _messages_in(inner, place, f"{at}.{name}", role)
