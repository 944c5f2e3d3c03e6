"""
Candidate antecedents: everything in a document that a mention could refer to.

Found by form alone (capitals, quotation marks, determiners, years), in the title, the section, the
background and every question and answer. Equal candidates, by content words, are one candidate with
several occurrences, so that features of recency and salience can be computed on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from replay.coreference.embedded.layout import Part, Place, holds_answer, layout
from replay.coreference.embedded.lexicon import ORGANIZED_TITLES, PLAIN_SECTIONS, singular
from replay.coreference.embedded.spans import YEARS, forms, is_date
from replay.coreference.resolver import Document
from replay.coreference.words import comparable_words, content_words, words

CandidateKind = Literal["title", "section", "name", "quote", "phrase", "words", "date", "answer", "clause"]

_MAX_KEY_WORDS = 9
_MAX_TOPIC_NAMES = 60
_SHORT_ANSWER_WORDS = 8
_CLAUSE_TURNS = 2
"""Whole longer answers are candidates this many turns back."""
_MAX_CLAUSE_CHARACTERS = 1000
_MAX_SECTION_CHARACTERS = 300
_SECTION_SEPARATORS = re.compile(r"\s*\([^()]*\)\s*|\s*[:;,–]\s*|\s+and\s+")
_TRIMMED = " \t\n,;:.\"'“”‘’"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place where a candidate stands."""

    place: Place
    turn: int
    """0-based index in the document's turns; ``HEADING`` outside them."""
    start: int
    end: int
    """Offsets in the document's text."""
    position: float
    """Where in its part it begins, 0 the start, 1 the end."""
    before: str
    """The word before it, in normal form."""


@dataclass(slots=True)
class Candidate:
    """A possible antecedent."""

    text: str
    """As it stands at its first occurrence."""
    key: tuple[str, ...]
    """Its content words; equal keys are one candidate."""
    kind: CandidateKind
    occurrences: list[Occurrence] = field(default_factory=list)

    @property
    def head(self) -> str:
        """The last content word, which for an English noun phrase is mostly its noun."""
        return self.key[-1]

    @property
    def first(self) -> Occurrence:
        return self.occurrences[0]

    @property
    def last(self) -> Occurrence:
        return self.occurrences[-1]


@dataclass(frozen=True, slots=True)
class Topic:
    """What the conversation is about."""

    text: str
    key: tuple[str, ...]
    note: str = ""
    """What a title says in parentheses: "Thriller (album)"."""

    @property
    def is_organized(self) -> bool:
        """Whether its title says that it is a group, a work or the like."""
        return any(singular(word) in ORGANIZED_TITLES for word in words(self.note))


def gather(document: Document) -> tuple[Topic, list[Candidate]]:
    """
    The topic of *document* and its candidates, ordered by first occurrence.

    The candidate that names the topic, where there is one, has the kind "title" and comes first.
    """
    parts = layout(document)
    gathered = _Gathered()
    title = next((part for part in parts if part.place == "title"), None)
    topic = Topic("", ())
    if title is not None:
        text, note = split_title(title.text)
        start = title.text.index(text)
        topic = Topic(text, comparable_words(text), note)
        gathered.add(title, start, start + len(text), "title")
    last_turn = len(document.turns) - 1
    for part in parts:
        if part.place == "section":
            _add_section(gathered, part)
        elif part.place == "answer" and not holds_answer(part.text):
            continue
        elif part.place != "title":
            for form in forms(part.text, part.place == "question"):
                gathered.add(part, form.start, form.end, form.kind, form.before)
            if part.place == "answer":
                _add_answer(gathered, part, last_turn)
    candidates = list(gathered.by_key.values())
    if title is None:
        main = most_said(candidates)
        if main is not None:
            main.kind = "title"
            candidates.remove(main)
            candidates.insert(0, main)
            topic = Topic(main.text, main.key)
    return topic, candidates


def split_title(title: str) -> tuple[str, str]:
    """A title without its note in parentheses, and the note in lower case."""
    opens = title.rfind("(")
    if opens <= 0 or not title.endswith(")") or not title[:opens].strip():
        return title, ""
    return title[:opens].rstrip(), title[opens + 1 : -1].lower()


def most_said(candidates: list[Candidate]) -> Candidate | None:
    """
    The topic where no title gives it: the first name of the background, else the name said most.

    A question counts twice what an answer does, and "Zappa" counts for "Frank Zappa". Where no name
    is said at all, the last noun phrase of the first question ("What is throat cancer?").
    """
    names = [c for c in candidates if c.kind == "name" and not is_date(c.key)]
    for name in names:
        if name.first.place == "background":
            return name
    said = {
        name.key: sum(2 if o.place == "question" else 1 for o in name.occurrences)
        for name in names[:_MAX_TOPIC_NAMES]
    }

    def weight(name: Candidate) -> int:
        shorter = (key for key in said if len(key) < len(name.key) and set(key) <= set(name.key))
        return said[name.key] + sum(said[key] for key in shorter)

    if names:
        return max(names[:_MAX_TOPIC_NAMES], key=weight)
    opening = [
        c for c in candidates if c.first.place == "question" and c.first.turn == 0 and c.kind != "date"
    ]
    return opening[-1] if opening else None


class _Gathered:
    """Candidates by key, in the order they were found."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[str, ...], Candidate] = {}

    def add(self, part: Part, start: int, end: int, kind: CandidateKind, before: str = "") -> None:
        text = part.text[start:end]
        trimmed = text.lstrip(_TRIMMED)
        start += len(text) - len(trimmed)
        text = trimmed.rstrip(_TRIMMED)
        key = comparable_words(text) if kind in ("title", "name", "quote") else content_words(text)
        if not key or (len(key) > _MAX_KEY_WORDS and kind not in ("clause", "title")):
            return
        if kind not in ("date", "title", "clause") and is_date(key):
            return
        length = max(1, len(part.text))
        occurrence = Occurrence(
            place=part.place,
            turn=part.turn,
            start=part.start + start,
            end=part.start + start + len(text),
            position=start / length,
            before=before,
        )
        known = self.by_key.get(key)
        if known is None:
            self.by_key[key] = Candidate(text=text, key=key, kind=kind, occurrences=[occurrence])
        else:
            known.occurrences.append(occurrence)
            if kind == "answer" and known.kind in ("phrase", "words"):
                known.kind = kind


def _add_section(gathered: _Gathered, part: Part) -> None:
    """A section title's years, and each thing it names: "1974-1977: Streetlife Serenade and Turnstiles"."""
    text = part.text[:_MAX_SECTION_CHARACTERS]
    for match in YEARS.finditer(text):
        gathered.add(part, *match.span(), "date")
    start = 0
    pieces: list[tuple[int, int]] = []
    for separator in [*_SECTION_SEPARATORS.finditer(text), None]:
        pieces.append((start, separator.start() if separator else len(text)))
        start = separator.end() if separator else start
    if len(pieces) > 1 and not YEARS.search(text) and ":" not in text:
        pieces.insert(0, (0, len(text)))  # "The Old Man and the Sea" is one thing, perhaps
    for start, stop in pieces:
        if not set(content_words(text[start:stop])) <= PLAIN_SECTIONS:
            gathered.add(part, start, stop, "section")


def _add_answer(gathered: _Gathered, part: Part, last_turn: int) -> None:
    said = len(part.text.split()) if len(part.text) <= _MAX_CLAUSE_CHARACTERS else _MAX_CLAUSE_CHARACTERS
    if said <= _SHORT_ANSWER_WORDS:
        gathered.add(part, 0, len(part.text), "answer")
    elif last_turn - part.turn < _CLAUSE_TURNS and said < _MAX_CLAUSE_CHARACTERS:
        gathered.add(part, 0, len(part.text), "clause")
