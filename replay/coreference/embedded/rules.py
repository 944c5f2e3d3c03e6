"""
Chooses an antecedent for each mention of a question by rules.

Each rule follows from what people do in information-seeking conversations: they ask about the topic,
or about what the last answer brought up. A candidate gets points for fitting the mention and for
being near or central; the best one is the antecedent unless it has too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.embedded.candidates import Candidate, gather
from replay.coreference.embedded.choices import Choice, choice, clusters
from replay.coreference.embedded.rule_points import points
from replay.coreference.embedded.scene import Scene, look_at
from replay.coreference.mentions import find_mentions
from replay.coreference.resolver import Cluster, Document

VERSION = 1
"""Raised whenever a reading could come out differently."""


@dataclass(frozen=True, slots=True)
class RulesResolver:
    """The rules alone: needs no weights and no numpy, and gives no distributions."""

    @property
    def signature(self) -> str:
        return f"rules-{VERSION}"

    def read(self, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
        """Readings of each document's question, in order of position."""
        return [tuple(chosen.reading for chosen in read_document(document)) for document in documents]

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """The same as clusters."""
        return [clusters(document, read_document(document)) for document in documents]


def read_document(document: Document) -> tuple[Choice, ...]:
    """One choice per mention of the document's question, in order of position."""
    mentions = find_mentions(document.question)
    if not mentions:
        return ()
    topic, candidates = gather(document)
    scene = look_at(document, topic, candidates, mentions)
    return tuple(choice(mention, _best(scene, mention, candidates)) for mention in mentions)


def _best(scene: Scene, mention: Mention, candidates: Sequence[Candidate]) -> Candidate | None:
    best: Candidate | None = None
    most = 0.0
    for candidate in candidates:
        gained = points(scene, mention, candidate)
        if gained > most:
            best, most = candidate, gained
    return best
