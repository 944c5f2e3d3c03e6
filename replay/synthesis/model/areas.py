"""Parts of documents of which a conversation can be made."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.synthesis.documents.document import SourceDocument, SourceSection, SourceSentence

MOST_WORDS = 900
"""Of the passages that a model is shown at a time."""
_THIN_WORDS = 25
"""Sections below this are no passages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelArea:
    """Sections in a row of one document."""

    id: str
    title: str
    sections: tuple[SourceSection, ...]

    @property
    def sentences(self) -> list[tuple[SourceSection, SourceSentence]]:
        """Return whole sentences of paragraphs and items, in order."""
        return [
            (section, sentence)
            for section in self.sections
            for sentence in section.sentences
            if sentence.text.endswith((".", "!"))
        ]


def model_areas(documents: Iterable[SourceDocument], *, turns: int, rng: random.Random) -> list[ModelArea]:
    """
    Return areas with at least *turns* sentences, in an order that takes documents in turn, drawn by *rng*.

    Each can carry one conversation.
    """
    of_document = [_areas(document, turns) for document in documents]
    of_document = [areas for areas in of_document if areas]
    rng.shuffle(of_document)
    for areas in of_document:
        rng.shuffle(areas)
    deepest = max(map(len, of_document), default=0)
    return [areas[n] for n in range(deepest) for areas in of_document if n < len(areas)]


def _areas(document: SourceDocument, turns: int) -> list[ModelArea]:
    areas: list[ModelArea] = []
    taken: list[SourceSection] = []

    def close() -> None:
        area = ModelArea(id=f"{document.path}:{len(areas) + 1}", title=document.title, sections=tuple(taken))
        if len(area.sentences) >= turns:
            areas.append(area)
            taken.clear()

    for section in document.sections:
        if len(section.text.split()) < _THIN_WORDS:
            continue
        if taken and _word_count(taken) + len(section.text.split()) > MOST_WORDS:
            close()
            taken.clear()
        taken.append(section)
    if taken:
        close()
    return areas


def _word_count(sections: Sequence[SourceSection]) -> int:
    return sum(len(section.text.split()) for section in sections)
