"""
The native format: JSON Lines, one conversation a line, with the fields of ``Conversation``.

Read strictly: an unknown field is an error, since a misspelt ``gold_answers`` would otherwise quietly
leave a turn unscored.

Messages in the native format: what a question was asked with, and the steps before its answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from replay.core.conversation import Conversation, Passage, Turn, UserGoal
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.core.expectation import Expectation
from replay.core.message import Message, Role, ToolCall, join_texts, json_text, match_results, stray_results
from replay.core.settings.faults import nearest
from replay.datasets.data_file import SourceLocation, decode
from replay.datasets.expected import Written, read_expectations, write_expectations
from replay.datasets.json_rows import has_only, outline, rows_of_lines
from replay.datasets.reader import conversations
from replay.datasets.turn_metadata import Timestamp, check, with_timestamps

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


class _Passage(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    text: str
    title: str = ""


class _NativeTurn(msgspec.Struct, forbid_unknown_fields=True):
    question: str
    id: str | None = None
    gold_answers: list[str] | None = None
    gold_answer: str | None = None
    standalone: str | None = None
    gold_passages: list[str] = []
    fact: str | None = None
    asked_with: list[NativeMessage] = []
    steps: list[NativeMessage] = []
    timestamp: Timestamp | None = None
    answer_timestamp: Timestamp | None = None
    expect: Written | str = {}
    session: str = ""
    evidence: list[str] = []
    kind: str = ""


class _Conversation(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    turns: list[_NativeTurn] = []
    goal: UserGoal | str | None = None
    title: str = ""
    section: str = ""
    background: str = ""
    passages: list[_Passage] = []
    metadata: dict[str, Any] | str = {}
    """In tables JSON text, since columns have one type; so are ``expect`` and ``goal``."""
    expect: Written | str = {}


_METADATA = decoder_of(dict[str, Any])
_GOAL = decoder_of(UserGoal)
_WRITTEN: msgspec.json.Decoder[Written] = decoder_of(cast(Any, Written))
_REQUIRED = {"id"}
_OPTIONAL = {"turns", "goal", "title", "section", "background", "passages", "metadata", "expect"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeReader:
    """Reads the native format; a turn without an id is called ``{conversation}#{n}``, n from 1."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has native fields only, with turns that are objects or a goal."""
        found = outline(head)
        return has_only(found.get(""), required=_REQUIRED, optional=_OPTIONAL) and (
            "question" in found.get(".turns[]", ()) or "goal" in found.get("", ())
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line. Raises a ``DatasetError`` if the file can't be opened."""
        yield from conversations(rows_of_lines(path, _Conversation), _build)


def _build(row: _Conversation, place: SourceLocation) -> Conversation:
    return Conversation(
        id=row.id,
        turns=tuple(_turn(row.id, number, turn, place) for number, turn in enumerate(row.turns, 1)),
        goal=decode(_GOAL, row.goal.encode(), place, "goal") if isinstance(row.goal, str) else row.goal,
        title=row.title,
        section=row.section,
        background=row.background,
        passages=tuple(Passage(id=p.id, text=p.text, title=p.title) for p in row.passages),
        metadata=_metadata(row, place),
        expect=_expect(row.expect, place, "expect"),
    )


def _expect(given: Written | str, place: SourceLocation, at: str) -> tuple[Expectation, ...]:
    if given == {}:
        return ()
    if isinstance(given, str):
        if given.lstrip()[:1] not in ("{", "["):
            raise place.error("found text, expected an object or a list", at)
        given = decode(_WRITTEN, given.encode(), place, at)
    return read_expectations(given, place, at)


def _metadata(row: _Conversation, place: SourceLocation) -> dict[str, Any]:
    asked, answered = [t.timestamp for t in row.turns], [t.answer_timestamp for t in row.turns]
    for name, times in (("timestamp", asked), ("answer_timestamp", answered)):
        for i, time in enumerate(times):
            if time is not None:
                check(time, place, f"turns[{i}].{name}")
    given = row.metadata
    metadata = decode(_METADATA, given.encode(), place, "metadata") if isinstance(given, str) else given
    return with_timestamps(metadata, asked=asked, answered=answered, place=place)


def _turn(conversation: str, number: int, row: _NativeTurn, place: SourceLocation) -> Turn:
    at = f"turns[{number - 1}]"
    if row.gold_answers is not None and row.gold_answer is not None:
        raise place.error("stands beside gold_answers; give one of the two", f"{at}.gold_answer")
    short = () if row.gold_answer is None else (row.gold_answer,)
    return Turn(
        id=f"{conversation}#{number}" if row.id is None else row.id,
        question=row.question,
        gold_answers=short if row.gold_answers is None else tuple(row.gold_answers),
        standalone=row.standalone,
        gold_passages=tuple(row.gold_passages),
        fact=row.fact,
        asked_with=asked_with(row.asked_with, row.question, place, f"{at}.asked_with"),
        steps=steps(row.steps, place, f"{at}.steps"),
        expect=_expect(row.expect, place, f"{at}.expect"),
        session=row.session,
        evidence=tuple(row.evidence),
        kind=row.kind,
    )


def write_native(conversations: Iterable[Conversation], path: Path) -> int:
    """
    Write *conversations* to *path* in the native format; returns how many there were.

    Reading the file gives equal conversations. The file appears only once it is complete, and only
    one conversation is held at a time.

    Raises:
        ValueError: metadata holds what JSON can't (NaN, half a surrogate pair).
        TypeError: metadata holds what is no JSON value.
    """
    unfinished = path.with_name(path.name + ".part")
    count = 0
    try:
        with unfinished.open("wb") as stream:
            for conversation in conversations:
                stream.write(native_line(conversation))
                count += 1
        unfinished.replace(path)
    finally:
        with suppress(OSError):  # where it can't be removed it could not be made either
            unfinished.unlink()
    return count


def native_line(conversation: Conversation) -> bytes:
    """
    Return *conversation* as a line of the native format, line end included.

    Raises as ``write_native`` does.
    """
    text = json.dumps(native_fields(conversation), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def native_fields(conversation: Conversation) -> dict[str, Any]:
    """Return the JSON fields of one line, without empty ones; turns come early, to show the format."""
    return _without_empty(
        {
            "id": conversation.id,
            "title": conversation.title,
            "section": conversation.section,
            "background": conversation.background,
            "goal": None if conversation.goal is None else msgspec.to_builtins(conversation.goal),
            "turns": None
            if conversation.goal is not None
            else [
                _without_empty(
                    {
                        "id": turn.id,
                        "question": turn.question,
                        "gold_answers": turn.gold_answers,
                        "standalone": turn.standalone,
                        "gold_passages": turn.gold_passages,
                        "fact": turn.fact,
                        "asked_with": msgspec.to_builtins(turn.asked_with),
                        "steps": msgspec.to_builtins(turn.steps),
                        "expect": write_expectations(turn.expect),
                        "session": turn.session,
                        "evidence": turn.evidence,
                        "kind": turn.kind,
                    }
                )
                for turn in conversation.turns
            ],
            "passages": [
                _without_empty({"id": p.id, "title": p.title, "text": p.text}) for p in conversation.passages
            ],
            "metadata": dict(conversation.metadata),
            "expect": write_expectations(conversation.expect),
        }
    )


_ALWAYS = {"id", "question", "text", "turns"}
_NULLABLE = {"standalone", "fact"}
"""An empty text differs from none here, so only None is left out."""


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in fields.items()
        if (name in _ALWAYS and value is not None)
        or (value is not None if name in _NULLABLE else bool(value))
    }
