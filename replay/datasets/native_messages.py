"""Messages in the native format: what a question was asked with, and the steps before its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast, get_args

import msgspec

from replay.core.message import Message, Role, ToolCall, join_texts
from replay.core.message_reading import json_text, match_results, stray_results
from replay.core.settings.faults import nearest
from replay.datasets.place import SourceLocation

ROLES = get_args(Role)


class NativeCall(msgspec.Struct, forbid_unknown_fields=True):
    """A call; its id may be left out where the next results are in the calls' order."""

    name: str
    arguments: Any = msgspec.field(default_factory=dict)
    """A JSON value, or as the system wrote it: JSON text."""
    id: str = ""


class NativeMessage(msgspec.Struct, forbid_unknown_fields=True):
    """As ``Message``."""

    role: str
    text: str = ""
    tool_calls: list[NativeCall] = []
    tool_call_id: str | None = None
    name: str | None = None
    left_out: list[str] = []


def asked_with(
    rows: Sequence[NativeMessage], question: str, place: SourceLocation, at: str
) -> tuple[Message, ...]:
    """
    Return a turn's ``asked_with``, the field *at* a place.

    Raises:
        DatasetError: it has tools in it, or its user messages are not the *question*.
    """
    for number, row in enumerate(rows):
        if row.role == "tool" or row.tool_calls:
            raise place.error("is no place for tools, which stand in steps", f"{at}[{number}]")
    said = join_texts(row.text for row in rows if row.role == "user")
    if said and said != question:
        raise place.error(
            f'has the user messages "{said:.60}", which together, a line each, are not the question', at
        )
    return tuple(_messages(rows, place, at))


def steps(rows: Sequence[NativeMessage], place: SourceLocation, at: str) -> tuple[Message, ...]:
    """
    Return a turn's ``steps``, which stand *at* a place.

    Raises:
        DatasetError: a user speaks in them, or a result answers no call before it.
    """
    found = match_results(_messages(rows, place, at))
    for number in stray_results(found):
        raise place.error("is the result of no call before it", f"{at}[{number}]")
    for number, step in enumerate(found):
        if step.role == "user":
            raise place.error("is a user's; a question of its own is a turn of its own", f"{at}[{number}]")
        if step.tool_calls and step.role != "assistant":
            raise place.error(f"calls tools, which {step.role} can't", f"{at}[{number}]")
    return found


def _messages(rows: Sequence[NativeMessage], place: SourceLocation, at: str) -> Iterator[Message]:
    for number, row in enumerate(rows):
        if row.role not in ROLES:
            raise place.error(
                f'"{row.role}" is not a role{nearest(row.role, ROLES)} (allowed: {", ".join(ROLES)})',
                f"{at}[{number}].role",
            )
        calls = (
            ToolCall(id=call.id, name=call.name, arguments=json_text(call.arguments) or "{}")
            for call in row.tool_calls
        )
        yield Message(
            role=cast(Role, row.role),
            text=row.text,
            tool_calls=tuple(calls),
            tool_call_id=row.tool_call_id,
            name=row.name,
            left_out=tuple(row.left_out),
        )
