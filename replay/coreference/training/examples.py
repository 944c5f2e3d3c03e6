"""
Training examples of the reader: token sequences with what its heads should say.

From human rewrites (``questions``), from dialogues with two sets of answers (``dialogues``), from everyday
exchanges, and from questions that were made to lean on their history (``synthetic``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from replay.coreference.reading.resolver import Document
from replay.coreference.reading.sequence import Role, Segment, TokenSequence, WordPiece, pair_of, sequence_of
from replay.coreference.training.edits import Span, TokenEdit, content_words, edits_between, spans_of

IGNORED = -1
_SENTENCE_ENDS = ".!?:\n|-*"


@dataclass(slots=True, kw_only=True)
class TrainingExample:
    """One sequence; positions are those of its tokens."""

    ids: list[int]
    roles: list[int]
    asked: int
    """The question's tokens with the one before and the one behind them."""
    texts: list[int]
    """For each token the number of its text in the history, from 1; 0 for all others."""
    begins: list[int]
    ends: list[int]
    """Tokens that a span may begin and end with."""
    weight: float = 1.0
    source: str = ""
    inserts: list[int] = field(default_factory=list)
    deletes: list[int] = field(default_factory=list)
    possessives: list[int] = field(default_factory=list)
    untagged: list[int] = field(default_factory=list)
    """Positions whose tags aren't known."""
    pointers: list[tuple[int, list[Span]]] = field(default_factory=list)
    """From which position to which spans, any of which is right."""
    prepositions: dict[int, int] = field(default_factory=dict)
    articles: dict[int, int] = field(default_factory=dict)
    capitals: list[tuple[int, bool]] = field(default_factory=list)
    changed: float | None = None
    """Of a pair: whether the question means something else; its other fields are then empty."""


def from_rewrite(
    pieces: WordPiece,
    document: Document,
    rewrite: str,
    *,
    spans: Sequence[str] = (),
    weight: float = 1.0,
    source: str = "",
) -> TrainingExample | None:
    """
    Return *document* with what its human *rewrite* tells.

    *spans* are what people marked as meant, which come before what alignment finds. None where nothing that
    was put can be found in the history.
    """
    sequence = sequence_of(pieces, document)
    example = _example(sequence, weight, source)
    edits = list(edits_between(document.question, rewrite))
    for edit in edits:
        position, deleted = _positions(sequence.question, edit)
        found = _meant(edit, spans, sequence.history)
        if not found:
            example.untagged += [position, *deleted]
            continue
        example.inserts.append(position)
        example.deletes += deleted
        example.pointers.append((position, found))
        example.prepositions[position] = edit.preposition
        example.articles[position] = int(edit.has_article)
        if edit.is_possessive:
            example.possessives.append(position)
    if edits and not example.inserts:
        return None
    return example


def from_marks(
    pieces: WordPiece, document: Document, like: TrainingExample, spans: Sequence[str]
) -> TrainingExample:
    """
    Return *document*, whose question *like* has after another history, with what it leans on in this one.

    Without *spans* it leans on something that isn't there, and only its tags are known.
    """
    sequence = sequence_of(pieces, document)
    example = _example(sequence, like.weight, like.source)
    example.inserts, example.deletes = list(like.inserts), list(like.deletes)
    example.possessives, example.untagged = list(like.possessives), list(like.untagged)
    found = [span for text in spans for span in spans_of(text, sequence.history)]
    if found and len(like.inserts) == 1:
        example.pointers = [(like.inserts[0], found)]
    return example


def from_pair(
    pieces: WordPiece,
    gold: Document,
    own: Document,
    spans: Sequence[str],
    *,
    changed: float,
    weight: float = 1.0,
    source: str = "",
) -> TrainingExample:
    """Return the pair of *gold*'s question, which means *spans* there, and the *own* history."""
    sequence = pair_of(pieces, gold, own, spans)
    example = _example(sequence, weight, source)
    example.capitals = []
    example.changed = changed
    return example


def _example(sequence: TokenSequence, weight: float, source: str) -> TrainingExample:
    texts = [0] * len(sequence.ids)
    begins: list[int] = []
    ends: list[int] = []
    for number, segment in enumerate(sequence.history, 1):
        texts[segment.first : segment.first + len(segment.tokens)] = [number] * len(segment.tokens)
        for found, allowed in zip((begins, ends), segment.edges(), strict=True):
            found += [segment.first + n for n, is_allowed in enumerate(allowed) if is_allowed]
    return TrainingExample(
        ids=sequence.ids,
        roles=[int(role) for role in sequence.roles],
        asked=len(sequence.question.tokens) + 2,
        texts=texts,
        begins=begins,
        ends=ends,
        weight=weight,
        source=source,
        capitals=[label for segment in sequence.history for label in _capitals(segment)],
    )


def _capitals(segment: Segment) -> list[tuple[int, bool]]:
    """Return (token number, has a capital) of each word within a sentence; of an answer that has capitals."""
    if segment.role != Role.ANSWER or segment.text == segment.text.lower():
        return []
    found = []
    for number, token in enumerate(segment.tokens):
        before = segment.text[: token.start].rstrip()
        if (
            token.is_first
            and before
            and before[-1] not in _SENTENCE_ENDS
            and segment.text[token.start].isalpha()
        ):
            found.append((segment.first + number, segment.text[token.start].isupper()))
    return found


def _positions(question: Segment, edit: TokenEdit) -> tuple[int, list[int]]:
    """Return the position that *edit* comes before, and those it leaves out."""
    tokens = question.tokens
    position = next((n for n, token in enumerate(tokens) if token.start >= edit.start), len(tokens))
    deleted = [n for n, token in enumerate(tokens) if token.start < edit.end and token.end > edit.start]
    if deleted:
        position = deleted[0]
    return question.first + position, [question.first + n for n in deleted]


def _meant(edit: TokenEdit, marked: Sequence[str], history: Sequence[Segment]) -> list[Span]:
    put = set(content_words(edit.text))
    for text in marked:
        words = set(content_words(text))
        is_put = 2 * len(put & words) >= max(1, len(words)) or text.lower() in edit.text.lower()
        if is_put and (found := spans_of(text, history)):
            return found
    return spans_of(edit.text, history)


def without_background(document: Document) -> Document:
    """Return *document* as data without titles have it."""
    return replace(document, title="", section="", background="")
