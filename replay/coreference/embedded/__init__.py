"""
A coreference resolver that ships with the program: no download, no model library, deterministic.

It reads the mentions of the question only. Candidate antecedents are gathered from everything the
document holds (``candidates``); rules choose among them for each mention (``rules``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.coreference.embedded.rules import read_document
from replay.coreference.resolver import Cluster, Document, Span
from replay.evidence import Reading

VERSION = 1
"""Raised whenever a reading could come out differently."""


@dataclass(frozen=True, slots=True)
class EmbeddedResolver:
    """The default resolver; has no settings."""

    @property
    def signature(self) -> str:
        return f"embedded-{VERSION}"

    def read(self, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
        """Readings of each document's question, in order of position."""
        return [tuple(choice.reading for choice in read_document(document)) for document in documents]

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """
        The same as clusters: an antecedent's span with the mentions in the question that mean it.

        Mentions that the resolver leaves alone are in no cluster.
        """
        return [_clusters(document) for document in documents]


def _clusters(document: Document) -> list[Cluster]:
    question_start = len(document.context())
    members: dict[Span, list[Span]] = {}
    for choice in read_document(document):
        if choice.antecedent is not None:
            mention = choice.reading.mention
            members.setdefault(choice.antecedent, []).append(
                Span(start=question_start + mention.start, end=question_start + mention.end)
            )
    return [(antecedent, *sorted(mentions)) for antecedent, mentions in sorted(members.items())]
