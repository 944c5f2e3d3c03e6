"""
Readings from any resolver; from clusters, where it knows which spans belong together and no more.

A span of a cluster that stands in the question is a mention; what it refers to is the cluster's
first span before the question that is more than a pronoun.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading.mentions import is_possessive, kind_of
from replay.coreference.reading.resolver import CharSpan, Cluster, Document, MentionReader, Resolver
from replay.coreference.reading.words import PRONOUNS, words


def read_all(resolver: Resolver, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
    """Return the readings of any resolver: its own, else derived from its clusters."""
    if isinstance(resolver, MentionReader):
        return resolver.read(documents)
    found = zip(documents, resolver.resolve(documents), strict=True)
    return [readings_from_clusters(document, clusters) for document, clusters in found]


def readings_from_clusters(document: Document, clusters: Sequence[Cluster]) -> tuple[Reading, ...]:
    """
    Return one reading per mention in the question, in order of position (a longer span first).

    A cluster that has only pronouns before the question, or nothing, gives readings without an
    antecedent. A span that two clusters hold is read by the first that has an antecedent. Spans
    outside the text, and spans that run from the history into the question, are no mentions.
    """
    text, question_start = document.text(), len(document.context())
    read: dict[CharSpan, str | None] = {}
    for cluster in clusters:
        antecedent = first_naming_span(text, (span for span in cluster if span.end <= question_start))
        for span in cluster:
            if question_start <= span.start < span.end <= len(text) and read.get(span) is None:
                read[span] = None if antecedent is None else text[antecedent.start : antecedent.end]
    return tuple(
        Reading(mention=question_mention(document, span), antecedent=read[span], source="cluster")
        for span in sorted(read, key=lambda span: (span.start, -span.end))
    )


def first_naming_span(text: str, spans: Iterable[CharSpan]) -> CharSpan | None:
    """Return the first span in document order that holds a word other than a pronoun."""
    for span in sorted(spans):
        said = words(text[max(0, span.start) : max(0, span.end)])
        if said and not all(word in PRONOUNS for word in said):
            return span
    return None


def question_mention(document: Document, span: CharSpan) -> Mention:
    """Return the mention in the question at *span*, given in offsets of the document's text."""
    start = span.start - len(document.context())
    end = span.end - len(document.context())
    text = document.question[start:end]
    return Mention(
        start=start,
        end=end,
        text=text,
        kind=kind_of(text),
        possessive=is_possessive(text, document.question[end:]),
    )
