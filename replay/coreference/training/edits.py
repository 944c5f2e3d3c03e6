"""
What people changed to make a question stand alone, as edits that point into the history.

The question and its human rewrite are aligned word by word; what was inserted, less a preposition, an article
and a possessive, is looked for in the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from replay.coreference.reading.network import PREPOSITIONS
from replay.coreference.reading.sequence import Segment
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


def content_words(text: str) -> list[str]:
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
    asked = set(content_words(question))
    for change, a, b, c, d in matcher.get_opcodes():
        if change not in ("insert", "replace"):
            continue
        put = rewrite[after[c].start() : after[d - 1].end()]
        if not set(content_words(put)) - asked:
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
    wanted = set(content_words(text))
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
