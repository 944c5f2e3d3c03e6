"""Every text of a conversation, wherever it stands: in turns, messages, JSON of tools, passages, metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from replay.collecting.json_keys import kind_of_key
from replay.collecting.kinds import Kind
from replay.core.conversation import Conversation, Passage, Turn
from replay.core.expectation import Expectation
from replay.core.message import Message, ToolCall, join_texts
from replay.datasets.timestamps import ANSWERED, ASKED


class TextMapper:
    """What is made of every text of a conversation; as it is, it changes nothing."""

    def text(self, text: str, before: str = "") -> str:
        return text

    def value(self, value: Any, key: str, kind: Kind) -> Any:
        """Return what stands for *value*, a text or number under a *key* that says what it is."""
        return value

    def number(self, value: int | float) -> Any:
        return value


def map_texts(conversation: Conversation, mapper: TextMapper) -> Conversation:
    """Return *conversation* with what *mapper* makes of each of its texts, in the order of reading."""
    plain = mapper.text
    background = plain(conversation.background)
    title, section = plain(conversation.title), plain(conversation.section)
    turns: list[Turn] = []
    before = conversation.background
    for turn in conversation.turns:
        turns.append(_mapped_turn(turn, mapper, before))
        before = turn.gold_answer or ""
    passages = tuple(
        Passage(id=one.id, title=plain(one.title), text=plain(one.text)) for one in conversation.passages
    )
    skipped = (ASKED, ANSWERED)
    metadata = {
        (name if name in skipped else plain(name)): value if name in skipped else _json(value, name, mapper)
        for name, value in conversation.metadata.items()
    }
    return replace(
        conversation,
        title=title,
        section=section,
        background=background,
        turns=tuple(turns),
        passages=passages,
        metadata=metadata,
        expect=_expectations(conversation.expect, mapper),
    )


def _mapped_turn(turn: Turn, mapper: TextMapper, before: str) -> Turn:
    asked_with = tuple(
        replace(message, text=mapper.text(message.text, before if message.role == "user" else ""))
        for message in turn.asked_with
    )
    question = mapper.text(turn.question, before)
    if said := join_texts(message.text for message in asked_with if message.role == "user"):
        question = said
    asked = turn.question
    return replace(
        turn,
        question=question,
        asked_with=asked_with,
        standalone=None if turn.standalone is None else mapper.text(turn.standalone, before),
        steps=tuple(_message(step, mapper) for step in turn.steps),
        gold_answers=tuple(mapper.text(answer, asked) for answer in turn.gold_answers),
        fact=None if turn.fact is None else mapper.text(turn.fact),
        expect=_expectations(turn.expect, mapper),
    )


def _message(message: Message, mapper: TextMapper) -> Message:
    calls = tuple(
        ToolCall(id=call.id, name=call.name, arguments=_json_text(call.arguments, mapper))
        for call in message.tool_calls
    )
    return replace(message, text=_json_text(message.text, mapper), tool_calls=calls)


def _expectations(listed: Sequence[Expectation], mapper: TextMapper) -> tuple[Expectation, ...]:
    return tuple(replace(one, value=_json(one.value, "", mapper)) for one in listed)


def _json_text(text: str, mapper: TextMapper) -> str:
    """Return what *mapper* makes of *text*, value by value where it is JSON."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return mapper.text(text)
        made = _json(value, "", mapper)
        return text if made == value else json.dumps(made, ensure_ascii=False)
    return mapper.text(text)


def _json(value: Any, key: str, mapper: TextMapper) -> Any:
    """Return what *mapper* makes of a JSON value that stands under *key*."""
    if isinstance(value, Mapping):
        return {mapper.text(str(name)): _json(item, str(name), mapper) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item, key, mapper) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    kind = kind_of_key(key)
    if kind is not None and not (isinstance(value, str) and value.lstrip()[:1] in ("{", "[")):
        return mapper.value(value, key, kind)
    if not isinstance(value, str):
        return mapper.number(value)
    # "name" is a person's or a product's: as if somebody had been asked for it.
    return mapper.text(value, "name?") if key.lower() == "name" else _json_text(value, mapper)
