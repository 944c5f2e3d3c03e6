"""
What one utterance offers as antecedents, looked at once however many documents hold it.

A conversation's documents share most of their pieces: the next turn's, those of the other policies and
both sides of each comparison. So all that depends on the utterance alone is found here and remembered:
its candidates, how each looks and stands there, its sentences and its words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from replay.coreference.embedded.enumerations import Enumeration, enumerations
from replay.coreference.embedded.layout import Place, holds_answer
from replay.coreference.embedded.lexicon import GROUPS, PEOPLE_NOUNS, PLAIN_SECTIONS, RELATIVES, WORKS
from replay.coreference.embedded.looks import CandidateKind, Matrix, look_row, meanings
from replay.coreference.embedded.spans import YEARS, forms, is_date, lines_closed
from replay.coreference.vectors import SIZE
from replay.coreference.words import (
    ARTICLES,
    FUNCTION_WORDS,
    Token,
    content_words,
    singular,
    tokens,
    word_set,
)

REMEMBERED = 8192
_MAX_KEY_WORDS = 9
_MAX_LIST_WORDS = 24
_LISTING = ("question", "answer", "background")
_SHORT_ANSWER_WORDS = 8
_MAX_CLAUSE_CHARACTERS = 1000
_MAX_SECTION_CHARACTERS = 300
_SECTION_SEPARATORS = re.compile(r"\s*\([^()]*\)\s*|\s*[:;,–]\s*|\s+and\s+")
_TRIMMED = " \t\n,;:.\"'“”‘’*_`"
_SENTENCE_END = re.compile(r"[.?!]\s+|\n+")
STEM = 5
"""Words with the same first letters, so many, are taken for forms of one word."""

_AUXILIARIES = word_set(
    "is was did does do are were has have had can could will would may might must also then said"
)
_PREPOSITIONS = word_set("in of for at on to with by from about after before during like than")
_PLACED = word_set("in at to from near into inside outside around")
_TIMED = word_set("in on by until since during after before")
_SUBJECTS = word_set("he she they it i we you who that this there")
_BEFORE_SUBJECTS = frozenset('.?!\n:;"“')


class Found(msgspec.Struct, frozen=True, gc=False):
    """A candidate where it stands in its utterance."""

    key: tuple[str, ...]
    """Its content words; equal keys are one candidate."""
    text: str
    kind: CandidateKind
    start: int
    end: int
    """Offsets in the utterance."""
    before: str
    """The word before it, in normal form."""


class Piece(msgspec.Struct, frozen=True):
    """An utterance, a title, a section or a background."""

    found: tuple[Found, ...]
    looks: Matrix
    """One row of ``look_row`` for each of *found*."""
    stands: Matrix
    """One row of ``_standing`` for each of *found*."""
    order: tuple[tuple[int, ...], ...]
    """Which of a list each of *found* is: 1 the first, -1 the last; empty for what is in none."""
    sentence: tuple[int, ...]
    """The index of the sentence that each of *found* begins in."""
    stems: tuple[frozenset[str], ...]
    """The beginnings of the content words of each sentence."""
    says: frozenset[str]
    """Every word."""
    answers: bool
    """Whether it says anything, as an answer."""


@lru_cache(maxsize=REMEMBERED)
def piece(text: str, place: Place) -> Piece:
    """What *text* offers, said at *place*."""
    closed = lines_closed(text)
    line = tokens(closed)
    lists = enumerations(text, line) if place in _LISTING else []
    found = list(_kept(text, line, _gathered(text, closed, line, place, lists), lists))
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text))]
    stems: list[set[str]] = [set() for _ in starts]
    says = set()
    for token in line:
        if token.is_word:
            says.add(token.normal)
            if token.normal not in FUNCTION_WORDS:
                stems[bisect_right(starts, token.start) - 1].add(token.normal[:STEM])
    if found:
        looks = np.asarray([look_row(f.text, f.key, f.kind) for f in found], np.float32)
        looks = np.concatenate([looks, meanings([f.key for f in found])], axis=1)
        stands = np.asarray([_standing(text, f, lists) for f in found], np.float32)
    else:
        looks, stands = np.zeros((0, LOOKS), np.float32), np.zeros((0, STANDS), np.float32)
    return Piece(
        found=tuple(found),
        looks=looks,
        stands=stands,
        order=tuple(_order(f, lists) for f in found),
        sentence=tuple(bisect_right(starts, f.start) - 1 for f in found),
        stems=tuple(map(frozenset, stems)),
        says=frozenset(says),
        answers=holds_answer(text),
    )


Raw = tuple[int, int, CandidateKind, str]


def _gathered(
    text: str, closed: str, line: Sequence[Token], place: Place, lists: list[Enumeration]
) -> Iterator[Raw]:
    if place == "title":
        yield 0, len(text), "title", ""
        return
    if place == "section":
        yield from _of_section(text)
        return
    for form in forms(closed, line, place == "question"):
        yield form.start, form.end, form.kind, form.before
    for listed in lists:
        yield listed.start, listed.end, "list", ""
        for start, end in listed.items:
            yield start, end, "phrase", ""
    if place == "answer":
        said = len(text.split()) if len(text) <= _MAX_CLAUSE_CHARACTERS else _MAX_CLAUSE_CHARACTERS
        if said <= _SHORT_ANSWER_WORDS:
            yield 0, len(text), "answer", ""
        elif said < _MAX_CLAUSE_CHARACTERS:
            yield 0, len(text), "clause", ""


def _of_section(text: str) -> Iterator[Raw]:
    """A section title's years, and each thing it names: "1974-1977: Streetlife Serenade and Turnstiles"."""
    text = text[:_MAX_SECTION_CHARACTERS]
    for match in YEARS.finditer(text):
        yield *match.span(), "date", ""
    start = 0
    parts: list[tuple[int, int]] = []
    for separator in [*_SECTION_SEPARATORS.finditer(text), None]:
        parts.append((start, separator.start() if separator else len(text)))
        start = separator.end() if separator else start
    if len(parts) > 1 and not YEARS.search(text) and ":" not in text:
        parts.insert(0, (0, len(text)))  # "The Old Man and the Sea" is one thing, perhaps
    for start, stop in parts:
        if not set(content_words(text[start:stop])) <= PLAIN_SECTIONS:
            yield start, stop, "section", ""


def _kept(text: str, line: Sequence[Token], raw: Iterator[Raw], lists: list[Enumeration]) -> Iterator[Found]:
    seen: set[tuple[int, int]] = set()
    starts = [token.start for token in line]
    joined = {(listed.start, listed.end): listed.joined(text) for listed in lists}
    for start, end, kind, before in raw:
        said = text[start:end]
        trimmed = said.lstrip(_TRIMMED)
        start += len(said) - len(trimmed)
        said = trimmed.rstrip(_TRIMMED)
        end = start + len(said)
        if kind == "list":
            said = joined.get((start, end), said)
            key = content_words(said)
        else:
            inside = [
                t.normal for t in line[bisect_left(starts, start) : bisect_left(starts, end)] if t.is_word
            ]
            key = tuple(word for word in inside if word not in FUNCTION_WORDS)
            if not key and kind in ("title", "name", "quote"):
                key = tuple(inside)
        longest = _MAX_LIST_WORDS if kind == "list" else _MAX_KEY_WORDS
        if not key or (len(key) > longest and kind not in ("clause", "title")):
            continue
        if kind not in ("date", "title", "clause") and is_date(key):
            continue
        if (start, end) in seen and kind not in ("answer", "list"):
            continue
        seen.add((start, end))
        yield Found(key, said, kind, start, end, before)


def _standing(text: str, found: Found, lists: list[Enumeration]) -> list[float | bool]:
    """What part a candidate plays in its sentence, by the words around it, and in a list."""
    ahead = text[max(0, found.start - 2) : found.start].strip()
    after = text[found.end : found.end + 14]
    following = after[1:].partition(" ")[0].lower() if after[:1] == " " else ""
    before = found.before
    noun = singular(before)
    at, number = _place_in_list(found, lists)
    whole = found.kind == "list"
    position = found.start / max(1, len(text))
    flags = (
        found.start == 0,
        not ahead or ahead[-1] in _BEFORE_SUBJECTS,
        following in _AUXILIARIES or (following.endswith("ed") and len(following) > 3),
        after[:2] in ("'s", "’s", "' "),
        before in _PREPOSITIONS or before == "and",
        before in _SUBJECTS,
        before == "to",
        before in _AUXILIARIES,
        before in ARTICLES,
        not before,
        before in _PLACED,
        before in _TIMED,
        noun in WORKS,
        noun in GROUPS,
        noun in PEOPLE_NOUNS,
        noun in RELATIVES,
        at > 0 and not whole,
        at == 1 and not whole,
        at == 2 and not whole,
        at == 3 and not whole,
        at > 3 and not whole,
        at == number > 0 and not whole,
        whole,
    )
    return [position, number / 4, *flags]


def _place_in_list(found: Found, lists: list[Enumeration]) -> tuple[int, int]:
    """Which of a list's items it is, from 1, and of how many; zeros for what is in none."""
    for listed in lists:
        for index, (start, end) in enumerate(listed.items, 1):
            if start <= found.start < end or found.start <= start < found.end <= end:
                return index, len(listed.items)
    return 0, 0


def _order(found: Found, lists: list[Enumeration]) -> tuple[int, ...]:
    at, number = _place_in_list(found, lists)
    if not at or found.kind == "list":
        return ()
    return (at, -1) if at == number else (at,)


LOOKS = len(look_row("Ann", ("ann",), "name")) + SIZE
STANDS = len(_standing("Ann", Found(("ann",), "Ann", "name", 0, 3, ""), []))
