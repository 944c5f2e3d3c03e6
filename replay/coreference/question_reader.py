"""One question to a resolver, from plain data: what ``replay.coreference.load`` gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from replay.core.drift_evidence import Reading
from replay.core.history import Exchange
from replay.coreference.reading.clusters import read_all
from replay.coreference.reading.resolver import Document, Resolver


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
