"""
The parts of a document, and where each stands in its text.

The resolver reads part by part (who said it, and how long ago, matters), while clusters speak of
offsets in the whole text; this is the bridge between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from replay.coreference.resolver import Document
from replay.coreference.words import words

Place = Literal["title", "section", "background", "question", "answer"]

HEADING = -1
"""The turn of a part that belongs to no turn."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a document."""

    place: Place
    turn: int
    """0-based index in the document's turns; ``HEADING`` for title, section and background."""
    start: int
    """Where *text* begins in the document's text."""
    text: str


def layout(document: Document) -> tuple[Part, ...]:
    """
    The parts of *document* before its question, in order; blank ones are left out.

    For each part, ``document.text()[part.start : part.start + len(part.text)] == part.text``.
    """
    said: list[tuple[Place, int, str]] = [
        ("title", HEADING, document.title),
        ("section", HEADING, document.section),
        ("background", HEADING, document.background),
    ]
    for number, turn in enumerate(document.turns):
        said += [("question", number, turn.question), ("answer", number, turn.answer)]
    parts: list[Part] = []
    start = 0
    for place, number, text in said:
        if text := text.strip():
            parts.append(Part(place=place, turn=number, start=start, text=text))
            start += len(text) + (2 if place in ("title", "section") else 1)  # a stop, a space
    return tuple(parts)


_NO_ANSWERS = frozenset(
    {
        ("cannotanswer",), ("unknown",), ("unanswerable",), ("no", "answer"), ("n", "a"), ("none",),
        ("i", "don't", "know"), ("i", "do", "not", "know"), ("i", "dont", "know"), ("i", "can't", "answer"),
        ("i", "cannot", "answer"), ("i", "can't", "answer", "that"), ("i", "cannot", "answer", "that"),
        ("no", "answer", "found"), ("sorry", "i", "don't", "know"), ("i'm", "not", "sure"), ("not", "sure"),
    }
)  # fmt: skip


def holds_answer(text: str) -> bool:
    """Whether an answer says anything: "CANNOTANSWER" and "I don't know." don't."""
    said = words(text[:80])
    return bool(said) and said not in _NO_ANSWERS
