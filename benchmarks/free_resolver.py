"""
A resolver that costs next to nothing (some 15 us a document), for measuring everything around one.

Each pronoun of the question gets a reading with ten antecedents, pieces of what was said, as the embedded
resolver would give; two mentions at most, and one at the question's end where there is no pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.resolver import Cluster, Document

_PRONOUN = re.compile(r"\b(?:he|she|it|his|her|their|this)\b", re.IGNORECASE)
_PROBABILITIES = (0.41, 0.17, 0.09, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.01)
_MENTIONS = 2
_WORDS = 2
"""Of an antecedent."""
_SHORT = 3
"""Shorter words are mostly no content words, and an antecedent has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeResolver:
    """Readings without looking."""

    @property
    def signature(self) -> str:
        return "free-1"

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """No clusters."""
        return [[] for _ in documents]

    def read(self, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
        """As the module says."""
        return [_readings(document) for document in documents]


def _readings(document: Document) -> tuple[Reading, ...]:
    question = document.question
    said = [document.title, *(turn.answer for turn in document.turns)]
    # The latest words first, so that the two sides' antecedents differ.
    words = [word for word in " ".join(said).split() if len(word) > _SHORT][::-1]
    pieces = [
        " ".join(words[at : at + _WORDS])
        for at in range(0, min(len(words), _WORDS * len(_PROBABILITIES)), _WORDS)
    ]
    if not pieces:
        return ()
    distribution = tuple(zip(_PROBABILITIES, pieces, strict=False))
    places = [found.span() for found in _PRONOUN.finditer(question)][:_MENTIONS]
    return tuple(
        Reading(
            mention=Mention(start=start, end=end, text=question[start:end], kind="it"),
            antecedent=pieces[0],
            source="title",
            distribution=distribution,
        )
        for start, end in places or [(len(question), len(question))]
    )
