"""
A conversation without personal data: all its texts, with the same made-up value for the same thing.

Two passes: everything personal is looked for in every text, in the order in which it was said, then each
occurrence of what was found is replaced, also where nothing around it tells what it is.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from replay.collecting.conversation_texts import TextMapper, map_texts
from replay.collecting.kinds import Kind
from replay.collecting.person_names import CONNECTORS, WORD, name_lists
from replay.collecting.personal_data import PersonalDataRules, PersonalSpan, find_personal_data
from replay.collecting.replacements import Pseudonyms
from replay.core.conversation import Conversation, Passage
from replay.datasets.timestamps import ANSWERED, ASKED, seconds_of

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
