"""
Readings from any resolver; from clusters, where it knows which spans belong together and no more. And one
question to a resolver, from plain data: what ``replay.coreference.load`` gives.

A span of a cluster that stands in the question is a mention; what it refers to is the cluster's
first span before the question that is more than a pronoun.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from replay.core.drift_evidence import Mention, Reading
from replay.core.history import Exchange
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBackground:
    """What is known before the first turn; all of it may be empty."""

    title: str = ""
    section: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """A resolver that is asked one question at a time."""

    resolver: Resolver

    @property
    def signature(self) -> str:
        """The resolver's name and version, with every setting that can change a reading."""
        return self.resolver.signature

    def resolve_question(
        self,
        background: DocumentBackground | Mapping[str, str] | None,
        turns: Iterable[tuple[str, str]],
        question: str,
    ) -> tuple[Reading, ...]:
        """
        Return what each mention of *question* refers to, in order of position; empty without mentions.

        Args:
            background: ``title``, ``section`` and ``text``, as a ``DocumentBackground`` or a mapping with any
                of these keys; None for no background.
            turns: (question, answer) pairs, oldest first; all of them are used.
            question: The question to read.

        Returns:
            One reading for each mention: its character span in *question* (``mention.start``,
            ``mention.end``), its ``mention.kind``, the text of the best ``antecedent`` or None, and the
            ``distribution`` as (probability, antecedent) pairs, most probable first, if the resolver has one.

        Raises:
            ValueError: *background* has a key that is none of the three.
        """
        known = _background(background)
        document = Document(
            question=question,
            turns=tuple(Exchange(question=asked, answer=answer) for asked, answer in turns),
            title=known.title,
            section=known.section,
            background=known.text,
        )
        return read_all(self.resolver, [document])[0]


def _background(given: DocumentBackground | Mapping[str, str] | None) -> DocumentBackground:
    if isinstance(given, DocumentBackground):
        return given
    unknown = sorted(set(given or ()) - {"title", "section", "text"})
    if unknown:
        raise ValueError(f'background has no "{unknown[0]}"; it may have title, section and text')
    return DocumentBackground(**(given or {}))
