"""
Training examples of the reader: token sequences with what its heads should say.

From human rewrites, from dialogues with two sets of answers (``annotated``), from everyday exchanges, and
from questions that were made to lean on their history (``synthetic``). What people changed to make a question
stand alone are edits that point into the history: the question and its human rewrite are aligned word by
word; what was inserted, less a preposition, an article and a possessive, is looked for in the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from replay.coreference.reading.network import PREPOSITIONS
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.sequence import Role, Segment, TokenSequence, WordPiece, pair_of, sequence_of
from replay.coreference.reading.words import word_set

_WORD = re.compile(r"['’]s\b|[^\W_]+(?:[-.'’&/](?!s\b)[^\W_]+)*|[^\w\s]")
_STOP = word_set(
    """
    a an the of in on at to for and or is are was were be been being do does did has have had he she it they
    him her his hers its them their theirs this that these those there then what which who whom when where why
    how besides any other else more also i you my your me we our us with by from as about than into 's ’s s
    can could will would should not no so
    """
)
_ARTICLES = ("the", "a", "an")
LEAST_OVERLAP = 0.8
"""Word F1 of what people inserted and of a span that is called the same."""
LONGEST_SPAN = 20
"""In words."""

Span = tuple[int, int]
"""First and last token of a span, positions in a sequence, both inclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEdit:
    """Words of a question replaced by others; nothing replaced is an insertion."""

    start: int
    end: int
    """Character offsets in the question; equal for an insertion, which comes before ``start``."""
    preposition: int = 0
    """Index in ``PREPOSITIONS``."""
    has_article: bool = False
    text: str
    """What is put there, without preposition, article and possessive."""
    is_possessive: bool = False


def lower_content_words(text: str) -> list[str]:
    """Return the words of *text*, lower case, that aren't function words."""
    return [
        word
        for word in (m[0].lower() for m in _WORD.finditer(text))
        if word[0].isalnum() and word not in _STOP
    ]


def edits_between(question: str, rewrite: str) -> Iterator[TokenEdit]:
    """Yield the edits that make *rewrite* of *question*; those that put no content word anywhere are left
    out."""
    before, after = list(_WORD.finditer(question)), list(_WORD.finditer(rewrite))
    matcher = SequenceMatcher(
        None, [w[0].lower() for w in before], [w[0].lower() for w in after], autojunk=False
    )
    asked = set(lower_content_words(question))
    for change, a, b, c, d in matcher.get_opcodes():
        if change not in ("insert", "replace"):
            continue
        put = rewrite[after[c].start() : after[d - 1].end()]
        if not set(lower_content_words(put)) - asked:
            continue
        if a < b:
            start, end = before[a].start(), before[b - 1].end()
        else:
            start = end = before[a].start() if a < len(before) else len(question)
        yield _edit(start, end, put)


def _edit(start: int, end: int, put: str) -> TokenEdit:
    is_possessive = bool(re.search(r"['’]s?$", put))
    text = re.sub(r"['’]s?$", "", put).strip(" ,")
    preposition = 0
    lower = text.lower()
    for number, word in enumerate(PREPOSITIONS):
        if word and lower.startswith(word + " "):
            preposition, text = number, text[len(word) :].strip()
            break
    first, _, rest = text.partition(" ")
    has_article = first.lower() == "the" and bool(rest)
    if first.lower() in _ARTICLES and rest:
        text = rest
    if put.lstrip().startswith(",") and not preposition:
        preposition = PREPOSITIONS.index(",")
    return TokenEdit(
        start=start,
        end=end,
        preposition=preposition,
        has_article=has_article,
        text=text.strip(),
        is_possessive=is_possessive,
    )


def spans_of(text: str, segments: Sequence[Segment]) -> list[Span]:
    """
    Return where *segments* say *text*, to the letter if they do, else nearly so.

    Nearly: the words are the same but for function words, or word F1 is at least ``LEAST_OVERLAP``.
    """
    exact = [span for segment in segments for span in _exact(text, segment)]
    return exact or _alike(text, segments)


def _exact(text: str, segment: Segment) -> Iterator[Span]:
    pattern = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
    for found in pattern.finditer(segment.text):
        if span := token_span(segment, found.start(), found.end()):
            yield span


def _alike(text: str, segments: Sequence[Segment]) -> list[Span]:
    wanted = set(lower_content_words(text))
    found: list[tuple[float, Span]] = []
    for segment in segments if wanted else ():
        if not segment.tokens:
            continue
        words = list(_WORD.finditer(segment.text, 0, segment.tokens[-1].end))
        hits = [i for i, word in enumerate(words) if word[0].lower() in wanted]
        for i in hits:
            for j in hits:
                if not i <= j <= i + LONGEST_SPAN:
                    continue
                inside = {w[0].lower() for w in words[i : j + 1]} - _STOP
                overlap = 2 * len(wanted & inside) / (len(inside) + len(wanted))
                if overlap >= LEAST_OVERLAP:
                    span = token_span(segment, words[i].start(), words[j].end())
                    if span:
                        found.append((overlap, span))
    best = max((overlap for overlap, _ in found), default=0.0)
    return sorted({span for overlap, span in found if overlap == best})


def token_span(segment: Segment, start: int, end: int) -> Span | None:
    """Return the tokens of *segment* that hold its characters *start* to *end*; None where they weren't
    read."""
    if not segment.tokens or end > segment.tokens[-1].end:
        return None
    inside = [n for n, token in enumerate(segment.tokens) if token.start < end and token.end > start]
    return (segment.first + inside[0], segment.first + inside[-1]) if inside else None


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
        found = _spans_of_edit(edit, spans, sequence.history)
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


def _spans_of_edit(edit: TokenEdit, marked: Sequence[str], history: Sequence[Segment]) -> list[Span]:
    put = set(lower_content_words(edit.text))
    for text in marked:
        words = set(lower_content_words(text))
        is_put = 2 * len(put & words) >= max(1, len(words)) or text.lower() in edit.text.lower()
        if is_put and (found := spans_of(text, history)):
            return found
    return spans_of(edit.text, history)


def without_background(document: Document) -> Document:
    """Return *document* as data without titles have it."""
    return replace(document, title="", section="", background="")
