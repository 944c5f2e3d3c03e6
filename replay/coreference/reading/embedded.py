"""
The reader that ships with the program: a small network that reads tokens, no download, deterministic.

A question is read behind its history's newest exchange and before its oldest (``sequence``). The network
marks where the question leans on what it doesn't say, points at what it leans on, and says how to put it
(``decode``); of a pair of histories it says whether the question still means the same (``decisions``). It is
kept in eight bits and run in single precision by ONNX Runtime (``network``); ``python -m
replay.coreference.training.train`` makes the weights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.language import ENGLISH_ONLY
from replay.coreference.reading.resolver import CharSpan, Cluster, Document

VERSION = 9
"""Raised whenever a reading could come out differently: with new weights, or another way of reading them."""


@dataclass(frozen=True, slots=True)
class EmbeddedResolver:
    """The default resolver; has no settings."""

    languages: ClassVar[frozenset[str]] = ENGLISH_ONLY
    largest_batch: ClassVar[int] = 4
    """Documents are read one by one, so that the first of many would only wait for the last."""
    worth_caching: ClassVar[bool] = True

    @property
    def signature(self) -> str:
        return f"embedded-{VERSION}"

    @property
    def kept_by(self) -> str:
        """Return the model files with their modification times, on which cached readings depend."""
        from replay.coreference.reading.network import folder_in_use

        return "|".join(f"{file}:{file.stat().st_mtime_ns}" for file in sorted(folder_in_use().iterdir()))

    def read(self, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
        """
        Return the readings of each document's question, in order of position, with their distributions.

        The weights are loaded with the first call. Documents are read one by one, so that a batch can't
        change a reading.

        Raises:
            ResolverError: ONNX Runtime can't run here.
        """
        return [_read(document) for document in documents]

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """
        Return the most probable readings as clusters: an antecedent's span with the mentions that mean it.

        Mentions that the resolver leaves alone are in no cluster.
        """
        return [_clusters(document, _read(document)) for document in documents]


def _read(document: Document) -> tuple[Reading, ...]:
    # numpy and ONNX Runtime are loaded by whoever reads, never by `replay --help`.
    from replay.coreference.reading.decode import readings
    from replay.coreference.reading.network import current
    from replay.coreference.reading.sequence import sequence_of

    network = current()
    sequence = sequence_of(network.pieces, document)
    return readings(sequence, network.run(sequence)) if sequence.history else ()


def _clusters(document: Document, found: Sequence[Reading]) -> list[Cluster]:
    context = document.context()
    mentions: dict[str, list[Mention]] = {}
    for reading in found:
        if reading.antecedent and reading.mention.text:
            mentions.setdefault(reading.antecedent, []).append(reading.mention)
    clusters = []
    for antecedent, meaning_it in mentions.items():
        said = re.compile(r"\s+".join(map(re.escape, antecedent.split())))
        places = list(said.finditer(context))
        if places:
            spans = [CharSpan(start=len(context) + m.start, end=len(context) + m.end) for m in meaning_it]
            clusters.append((CharSpan(start=places[-1].start(), end=places[-1].end()), *sorted(spans)))
    return sorted(clusters)
