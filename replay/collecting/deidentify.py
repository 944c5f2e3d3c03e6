"""
A conversation without personal data: all its texts, with the same made-up value for the same thing.

Two passes: everything personal is looked for in every text, in the order in which it was said, then each
occurrence of what was found is replaced, also where nothing around it tells what it is.

Every text counts, wherever it stands: in turns, messages, JSON of tools, passages, metadata.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from replay.collecting.patterns import Kind, kind_of_key
from replay.collecting.person_names import CONNECTORS, WORD, name_lists
from replay.collecting.personal_data import PersonalDataRules, PersonalSpan, find_personal_data
from replay.collecting.replacements import Pseudonyms
from replay.core.conversation import Conversation, Passage, Turn
from replay.core.expectation import Expectation
from replay.core.message import Message, ToolCall, join_texts
from replay.datasets.turn_metadata import ANSWERED, ASKED, seconds_of


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


_TITLES = {"mr": "male", "sir": "male", "herr": "male", "monsieur": "male"} | dict.fromkeys(
    ("mrs", "ms", "miss", "dame", "frau", "madame", "mme"), "female"
)
_WITHOUT_DIGITS = ("name", "address", "email", "secret")
"""Kinds whose values need no digit."""
_TITLED = re.compile(rf"\b({'|'.join(_TITLES)})\b\.?\s+(\w[\w’'-]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedValue:
    """Something personal, and what stands for it."""

    kind: Kind
    original: str
    replacement: str
    count: int
    """How often it was replaced."""


class _Collector(TextMapper):
    """Looks for what is personal, and keeps it by its kind, each spelling once."""

    def __init__(self, rules: PersonalDataRules) -> None:
        self.rules = rules
        self.found: dict[str, Kind] = {}
        self.titles: dict[str, str] = {}

    def text(self, text: str, before: str = "") -> str:
        for span in find_personal_data(text, before=before, rules=self.rules):
            self.found.setdefault(text[span.begin : span.end], span.kind)
        for match in _TITLED.finditer(text):
            self.titles.setdefault(match[2].lower(), _TITLES[match[1].lower()])
        return text

    def value(self, value: Any, key: str, kind: Kind) -> Any:
        text = str(value)
        if isinstance(value, str) and text.lower() in self.rules.keep:
            return value
        if kind not in _WITHOUT_DIGITS and not re.search(r"\d|^[A-Z]{5,}$", text):
            return self.text(text)  # "membership": "gold"
        if not isinstance(value, str) and kind in ("name", "email"):
            return self.number(value)
        if len(text.strip()) >= 2:
            self.found.setdefault(text, kind)
        return value

    def number(self, value: int | float) -> Any:
        """Keep a long number, whatever its key is; seconds and milliseconds since 1970 are none."""
        text = str(value)
        if isinstance(value, int) and len(text) >= 7 and not re.fullmatch(r"1[4-9](?:\d{8}|\d{11})", text):
            self.found.setdefault(text, "number")
        return value


class _Replacer(TextMapper):
    """Puts made-up values for what was found, wherever it stands."""

    def __init__(self, found: Mapping[str, Kind], pseudonyms: Pseudonyms) -> None:
        self.kinds: dict[str, Kind] = {}
        for text, kind in found.items():
            if kind == "name":
                if words := list(_name_words(text)):
                    self.kinds.update(dict.fromkeys([text.lower(), *words], kind))
            else:
                self.kinds[text] = kind
        self.pseudonyms = pseudonyms
        self.counts: Counter[tuple[Kind, str, str]] = Counter()
        self.pattern = _pattern_of(self.kinds)

    def spans(self, text: str) -> Iterator[tuple[PersonalSpan, str]]:
        """Yield where something found stands in *text*, and what is put there."""
        if self.pattern is None:
            return
        for match in self.pattern.finditer(text):
            kind = self.kinds.get(match[0]) or self.kinds.get(match[0].lower()) or "name"
            if kind == "name" and not _is_name_at(text, match.start(), match.end()):
                continue
            yield PersonalSpan(match.start(), match.end(), kind), self.pseudonyms.of(kind, match[0])

    def text(self, text: str, before: str = "") -> str:
        made, at = "", 0
        for span, put in self.spans(text):
            self.counts[span.kind, text[span.begin : span.end], put] += 1
            made += text[at : span.begin] + put
            at = span.end
        return made + text[at:]

    def value(self, value: Any, key: str, kind: Kind) -> Any:
        return self.text(value) if isinstance(value, str) else self.number(value)

    def number(self, value: int | float) -> Any:
        text = str(value)
        if text not in self.kinds:
            return value
        made = self.pseudonyms.of(self.kinds[text], text)
        self.counts[self.kinds[text], text, made] += 1
        try:
            return type(value)(made)
        except ValueError:
            return made


def _name_words(text: str) -> Iterator[str]:
    for match in WORD.finditer(text):
        word = re.sub(r"[’']s$", "", match[0].rstrip("."))
        if word.lower() not in CONNECTORS and len(word) > 1:
            yield word.lower()


def _pattern_of(kinds: Mapping[str, Kind]) -> re.Pattern[str] | None:
    """Return what matches each of the texts, names in any case; None for none."""
    alternatives = []
    for text, kind in sorted(kinds.items(), key=lambda item: (-len(item[0]), item[0])):
        body = re.escape(text)
        if kind in ("name", "email"):
            body = f"(?i:{body})"
        begin = r"(?<!\w)" if text[:1].isalnum() else ""
        end = r"(?!\w)" if text[-1:].isalnum() else ""
        alternatives.append(f"{begin}{body}{end}")
    return re.compile("|".join(alternatives)) if alternatives else None


def _is_name_at(text: str, begin: int, end: int) -> bool:
    """
    Return whether a word that is a name in this conversation is one here too, and not the ordinary word.
    """
    lists, word = name_lists(), text[begin:end]
    if not all(map(lists.is_word, word.lower().split())):
        return True
    if not word[:1].isupper():
        return False
    opens = re.search(r"(?:^|[.!?\n]\s*)$", text[:begin]) is not None
    return not opens or re.match(r"[’']s\b|\s+[A-ZÀ-Þ]|[.,!]?\s*$", text[end:]) is not None


def deidentify(
    conversation: Conversation, *, id: str, rules: PersonalDataRules | None = None, rng: random.Random
) -> tuple[Conversation, tuple[ReplacedValue, ...]]:
    """
    Return *conversation* as *id* without personal data, and what was replaced, in the order of the texts.

    Turns and passages are numbered anew, since ids of logs lead back to them.

    Args:
        conversation: As it was recorded.
        id: What it is called from here on.
        rules: What is personal, or isn't, in these logs.
        rng: Makes the replacements; the same numbers give the same ones.
    """
    collector = _Collector(rules or PersonalDataRules())
    map_texts(conversation, collector)
    pseudonyms = Pseudonyms(rng, collector.found)
    for first, gender in collector.titles.items():
        pseudonyms.be_called(first, gender)
    for text, kind in collector.found.items():
        if kind == "name" and " " in text:  # says which of its words is a first name
            pseudonyms.name(text)
    replacer = _Replacer(collector.found, pseudonyms)
    passages = {passage.id: f"{id}/p{number}" for number, passage in enumerate(conversation.passages, 1)}
    made = map_texts(conversation, replacer)
    turns = {turn.id: f"{id}#{number}" for number, turn in enumerate(conversation.turns, 1)}
    known = dict.fromkeys(turn.session for turn in conversation.turns if turn.session)
    sessions = {session: f"{id}/s{number}" for number, session in enumerate(known, 1)}
    renamed = replace(
        made,
        id=id,
        turns=tuple(
            replace(
                turn,
                id=turns[old.id],
                gold_passages=tuple(passages.get(one, one) for one in old.gold_passages if one in passages),
                session=sessions.get(old.session, ""),
                evidence=tuple(turns[one] for one in old.evidence),
            )
            for turn, old in zip(made.turns, conversation.turns, strict=True)
        ),
        passages=tuple(
            Passage(id=passages[old.id], text=one.text, title=one.title)
            for one, old in zip(made.passages, conversation.passages, strict=True)
        ),
        metadata=_shift_times(made.metadata, conversation.metadata, pseudonyms.shift_s),
    )
    values = tuple(
        ReplacedValue(kind=kind, original=original, replacement=put, count=count)
        for (kind, original, put), count in replacer.counts.items()
    )
    return renamed, values


def personal_spans(texts: Sequence[str], rules: PersonalDataRules | None = None) -> list[list[PersonalSpan]]:
    """
    Return what ``deidentify`` would replace in *texts*, a conversation's in order, text by text.

    Each text counts as said after the one before it.
    """
    collector = _Collector(rules or PersonalDataRules())
    for before, text in zip(["", *texts], texts, strict=False):
        collector.text(text, before)
    replacer = _Replacer(collector.found, Pseudonyms(random.Random(0)))
    return [[span for span, _ in replacer.spans(text)] for text in texts]


def substitute(conversation: Conversation, old: str, new: str) -> tuple[Conversation, int]:
    """
    Return *conversation* with *new* for each *old*, as a word of its own, in all its texts, and how many.
    """
    substitution = _Substitution(old, new)
    return map_texts(conversation, substitution), substitution.count


class _Substitution(TextMapper):
    """Puts one text in place of another."""

    def __init__(self, old: str, new: str) -> None:
        self.pattern = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
        self.new = new
        self.count = 0

    def text(self, text: str, before: str = "") -> str:
        made, count = self.pattern.subn(lambda _: self.new, text)
        self.count += count
        return made

    def value(self, value: Any, key: str, kind: Kind) -> Any:
        return self.text(value) if isinstance(value, str) else self.number(value)

    def number(self, value: int | float) -> Any:
        text = self.text(str(value))
        return value if text == str(value) else int(text) if text.isdecimal() else text


def _shift_times(metadata: Mapping[str, Any], before: Mapping[str, Any], shift_s: float) -> dict[str, Any]:
    """Return *metadata* with the recorded times of *before*, moved."""

    def shift(time: Any) -> Any:
        try:
            return None if time is None else round(seconds_of(time) + shift_s, 3)
        except ValueError:
            return None

    times = {
        name: [shift(time) for time in listed]
        for name in (ASKED, ANSWERED)
        if isinstance(listed := before.get(name), list | tuple)
    }
    return dict(metadata) | times
