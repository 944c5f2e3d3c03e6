"""What a person changes in a conversation: its texts, what is expected, what stands for what."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from replay.collecting.deidentify import ReplacedValue, substitute
from replay.collecting.kinds import Kind
from replay.collecting.replacements import Pseudonyms
from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.core.expectation import Expectation
from replay.core.settings.yaml_lines import parse
from replay.datasets.data_file import SourceLocation
from replay.datasets.expected import check_expectations, read_expectations, write_expectations

_PLACE = SourceLocation(path=Path("expect"))


def expectations_in(text: str) -> tuple[Expectation, ...]:
    """
    Return the expectations in *text*, YAML or JSON as under ``expect`` in a data file; none in an empty one.

    Raises:
        ValueError: they can't be read or checked, in words.
    """
    if not text.strip():
        return ()
    value, _, faults = parse(text)
    if faults:
        raise ValueError(faults[0].message)
    if not isinstance(value, dict) and not (
        isinstance(value, list) and all(isinstance(one, dict) for one in value)
    ):
        raise ValueError("a check and its value are expected, as in: contains: refund")
    try:
        found = read_expectations(value, _PLACE, "expect")
        check_expectations(found, _PLACE, "expect")
    except DatasetError as error:
        field = (error.field or "").removeprefix("expect").lstrip(".")
        raise ValueError(f"{field}: {error.message}" if field else error.message) from error
    return found


def expectations_text(expectations: Sequence[Expectation]) -> str:
    """Return *expectations* in the form that ``expectations_in`` reads, a line each."""
    written = write_expectations(expectations)
    if isinstance(written, list):
        return "\n".join(f"- {json.dumps(one, ensure_ascii=False)}" for one in written)
    return "\n".join(f"{kind}: {json.dumps(value, ensure_ascii=False)}" for kind, value in written.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedConversation:
    """A conversation as somebody wants it, and what is wrong with that."""

    conversation: Conversation
    key_turns: tuple[int, ...]
    problems: Mapping[str, str]
    """By field of the form; where there is one, nothing is kept."""


def apply_form(conversation: Conversation, form: Mapping[str, str]) -> EditedConversation:
    """
    Return *conversation* with the texts of *form*, whose fields end in the turn's depth: ``question-2``.
    """
    problems: dict[str, str] = {}
    turns: list[Turn] = []
    for depth, turn in enumerate(conversation.turns, 1):
        question = _text(form.get(f"question-{depth}", turn.question))
        answer = _text(form.get(f"answer-{depth}", turn.gold_answer or ""))
        standalone = _text(form.get(f"standalone-{depth}", turn.standalone or ""))
        expect = _expect(form, f"expect-{depth}", turn.expect, problems)
        if not question:
            problems[f"question-{depth}"] = "is empty; there is nothing to ask"
        asked_with = turn.asked_with
        if question != _text(turn.question):
            # In several messages it was another question; what remains are the instructions.
            asked_with = tuple(message for message in asked_with if message.role != "user")
        else:
            question = turn.question
        turns.append(
            replace(
                turn,
                question=question,
                asked_with=asked_with,
                gold_answers=turn.gold_answers
                if answer == _text(turn.gold_answer or "")
                else ((answer,) if answer else ()) + turn.gold_answers[1:],
                standalone=turn.standalone
                if standalone == _text(turn.standalone or "")
                else standalone or None,
                expect=expect,
            )
        )
    edited = replace(
        conversation,
        title=_text(form.get("title", conversation.title)),
        turns=tuple(turns),
        expect=_expect(form, "expect-end", conversation.expect, problems),
    )
    key_turns = tuple(depth for depth in range(1, len(turns) + 1) if f"key-{depth}" in form)
    return EditedConversation(conversation=edited, key_turns=key_turns, problems=problems)


def _text(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _expect(
    form: Mapping[str, str], name: str, before: tuple[Expectation, ...], problems: dict[str, str]
) -> tuple[Expectation, ...]:
    if name not in form:
        return before
    try:
        return expectations_in(_text(form[name]))
    except ValueError as error:
        problems[name] = str(error)
        return before


def put_back(
    conversation: Conversation, values: Sequence[ReplacedValue], index: int
) -> tuple[Conversation, list[ReplacedValue]]:
    """
    Return *conversation* with what the value at *index* stands for, everywhere, and the other values.

    Raises:
        IndexError: there is no such value.
    """
    value = values[index]
    made, _ = substitute(conversation, value.replacement, value.original)
    return made, [one for place, one in enumerate(values) if place != index]


def replace_everywhere(
    conversation: Conversation,
    values: Sequence[ReplacedValue],
    text: str,
    kind: Kind,
    rng: random.Random,
) -> tuple[Conversation, list[ReplacedValue]]:
    """
    Return *conversation* with a made-up value for each *text*, and *values* with that one.

    Raises:
        ValueError: *text* stands nowhere in it, in words.
    """
    made_up = Pseudonyms(rng, [text, *(value.replacement for value in values)]).of(kind, text)
    made, count = substitute(conversation, text, made_up)
    if not count:
        raise ValueError(f'"{text}" stands nowhere in this conversation, written like that')
    return made, [*values, ReplacedValue(kind=kind, original=text, replacement=made_up, count=count)]


class MarkedPiece(NamedTuple):
    """Part of a text."""

    text: str
    value: ReplacedValue | None
    """What stands there for something else; None for the conversation's own words."""


def marked_pieces(text: str, values: Sequence[ReplacedValue]) -> list[MarkedPiece]:
    """Return *text* in pieces, which together are it, by what in it was replaced."""
    by_text = {value.replacement.lower(): value for value in values}
    if not by_text:
        return [MarkedPiece(text, None)]
    longest = sorted(by_text, key=lambda one: (-len(one), one))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)
    pieces, at = [], 0
    for match in pattern.finditer(text):
        if match.start() > at:
            pieces.append(MarkedPiece(text[at : match.start()], None))
        pieces.append(MarkedPiece(match[0], by_text[match[0].lower()]))
        at = match.end()
    if at < len(text):
        pieces.append(MarkedPiece(text[at:], None))
    return pieces
