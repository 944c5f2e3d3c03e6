"""
Chooses an antecedent for each mention of a question by rules.

Each rule follows from what people do in information-seeking conversations: they ask about the topic,
or about what the last answer brought up. A candidate gets points for fitting the mention and for
being near or central; the best one is the antecedent unless it has too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.coreference.embedded.candidates import Candidate, gather
from replay.coreference.embedded.fit import points
from replay.coreference.embedded.scene import Scene, look_at
from replay.coreference.mentions import find_mentions
from replay.coreference.resolver import Document, Span
from replay.evidence import Mention, Reading


@dataclass(frozen=True, slots=True)
class Choice:
    """A reading, and where in the document's text its antecedent stands."""

    reading: Reading
    antecedent: Span | None


def read_document(document: Document) -> tuple[Choice, ...]:
    """One choice per mention of the document's question, in order of position."""
    mentions = find_mentions(document.question)
    if not mentions:
        return ()
    topic, candidates = gather(document)
    scene = look_at(document, topic, candidates, mentions)
    return tuple(_choice(mention, _best(scene, mention, candidates)) for mention in mentions)


def _choice(mention: Mention, candidate: Candidate | None) -> Choice:
    if candidate is None:
        return Choice(reading=Reading(mention=mention, antecedent=None), antecedent=None)
    place = candidate.first
    return Choice(
        reading=Reading(mention=mention, antecedent=candidate.text, source=candidate.kind),
        antecedent=Span(start=place.start, end=place.end),
    )


def _best(scene: Scene, mention: Mention, candidates: Sequence[Candidate]) -> Candidate | None:
    best: Candidate | None = None
    most = 0.0
    for candidate in candidates:
        gained = points(scene, mention, candidate)
        if gained > most:
            best, most = candidate, gained
    return best
