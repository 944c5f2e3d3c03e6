"""
The coreference resolver that ships with the program: no download, no model library, deterministic.

It reads the mentions of the question only, and what the question leaves out. Candidate antecedents are
gathered from everything the document holds (``candidates``); small networks trained on human rewrites
score them (``features``, ``network``, ``ranker``; ``python -m replay.coreference.training.train``) and give
a distribution over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from replay.core.drift_evidence import Reading
from replay.coreference.embedded.choices import Choice, clusters
from replay.coreference.language import ENGLISH_ONLY
from replay.coreference.resolver import Cluster, Document

__all__ = ["VERSION", "EmbeddedResolver"]

VERSION = 4
"""Raised whenever a reading could come out differently: with new weights, features or candidates."""


@dataclass(frozen=True, slots=True)
class EmbeddedResolver:
    """The default resolver; has no settings."""

    languages: ClassVar[frozenset[str]] = ENGLISH_ONLY

    @property
    def signature(self) -> str:
        return f"embedded-{VERSION}"

    def read(self, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
        """
        Readings of each document's question, in order of position, with their distributions.

        The weights are loaded with the first call. Documents are read one by one, so that a batch
        can't change a reading.
        """
        return [tuple(chosen.reading for chosen in _choices(document)) for document in documents]

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """
        The most probable readings as clusters: an antecedent's span with the mentions that mean it.

        Mentions that the resolver leaves alone are in no cluster.
        """
        return [clusters(document, _choices(document)) for document in documents]


def _choices(document: Document) -> tuple[Choice, ...]:
    # numpy is loaded by whoever reads, never by `replay --help`.
    from replay.coreference.embedded.network import shipped
    from replay.coreference.embedded.ranker import read_document

    return read_document(document, shipped())
