"""
Candidate antecedents: everything in a document that its question could refer to.

Found by form alone (capitals, quotation marks, determiners, years, lists), in the title, the section, the
background and every question and answer (``pieces``). Equal candidates, by content words, are one
candidate with several occurrences, so that features of recency and salience can be computed on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from replay.coreference.embedded.layout import Part, Place, layout
from replay.coreference.embedded.lexicon import ORGANIZED_TITLES
from replay.coreference.embedded.looks import CandidateKind
from replay.coreference.embedded.pieces import Piece, piece
from replay.coreference.embedded.spans import is_date
from replay.coreference.resolver import Document
from replay.coreference.words import comparable_words, singular, words

_MAX_TOPIC_NAMES = 60
_CLAUSE_TURNS = 2
"""Whole longer answers are candidates this many turns back."""


class Occurrence(msgspec.Struct, frozen=True, gc=False):
    """One place where a candidate stands."""

    place: Place
    turn: int
    """0-based index in the document's turns; ``HEADING`` outside them."""
    start: int
    end: int
    """Offsets in the document's text."""
    before: str
    """The word before it, in normal form."""


class Candidate(msgspec.Struct):
    """A possible antecedent."""

    text: str
    """As it stands at its first occurrence."""
    key: tuple[str, ...]
    """Its content words; equal keys are one candidate."""
    kind: CandidateKind
    occurrences: list[Occurrence]
    rows: list[int]
    """For each occurrence its row, counted through all pieces of the document."""

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


@dataclass(frozen=True, slots=True)
class Gathered:
    """A document's pieces and what they offer."""

    topic: Topic
    candidates: list[Candidate]
    """Ordered by first occurrence; one that names the topic has the kind "title" and comes first."""
    parts: tuple[Part, ...]
    pieces: tuple[Piece, ...]
    """One for each part."""


def gather(document: Document) -> Gathered:
    """The topic of *document* and its candidates."""
    parts = layout(document)
    pieces = []
    by_key: dict[tuple[str, ...], Candidate] = {}
    topic = Topic("", ())
    last_turn = len(document.turns) - 1
    row = 0
    for part in parts:
        text = part.text
        if part.place == "title":
            text, note = split_title(text)
            topic = Topic(text, comparable_words(text), note)
        seen = piece(text, part.place)
        pieces.append(seen)
        if part.place != "answer" or seen.answers:
            old = last_turn - part.turn >= _CLAUSE_TURNS
            for index, found in enumerate(seen.found, row):
                if old and found.kind == "clause":
                    continue
                occurrence = Occurrence(
                    part.place, part.turn, part.start + found.start, part.start + found.end, found.before
                )
                known = by_key.get(found.key)
                if known is None:
                    by_key[found.key] = Candidate(found.text, found.key, found.kind, [occurrence], [index])
                    continue
                known.occurrences.append(occurrence)
                known.rows.append(index)
                if found.kind in ("answer", "list") and known.kind in ("phrase", "words"):
                    known.kind = found.kind
        row += len(seen.found)
    candidates = list(by_key.values())
    if not topic.key:
        main = most_said(candidates)
        if main is not None:
            main.kind = "title"
            candidates.remove(main)
            candidates.insert(0, main)
            topic = Topic(main.text, main.key)
    return Gathered(topic, candidates, parts, tuple(pieces))


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

    # What only opens utterances ("Hello", "Net") has its capital from there.
    inside = [n for n in names[:_MAX_TOPIC_NAMES] if len(n.key) > 1 or any(o.before for o in n.occurrences)]
    if names:
        return max(inside or names[:_MAX_TOPIC_NAMES], key=weight)
    opening = [
        c for c in candidates if c.first.place == "question" and c.first.turn == 0 and c.kind != "date"
    ]
    return opening[-1] if opening else None
