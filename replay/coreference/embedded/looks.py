"""What a candidate's text alone tells: a person or a thing, one or several, a date, a price, what sort."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from replay.coreference.embedded.lexicon import GROUPS, NOUN_CLASSES, PLURAL_PEOPLE, WORKS, gender
from replay.coreference.embedded.spans import is_date
from replay.coreference.vectors import SIZE, normalized, number_of, vectors
from replay.coreference.words import ARTICLES, singular, tokens, word_set

CandidateKind = Literal[
    "title", "section", "name", "quote", "phrase", "words", "date", "answer", "clause", "list"
]
Matrix = npt.NDArray[np.float32]

_OWNERS = word_set("his her their its my your our")
_POINTERS = word_set("this that these those")
_NAMING = ("title", "name", "section", "quote", "answer")
_AMOUNT = re.compile(
    r"[$€£%]|\d\s?(?:euros?|dollars?|pounds?|percent|cents?|kg|km|g|ml|l|m|cm|mm|gb|mb)\b", re.I
)
_COUNTING = frozenset("0123456789$€£%")
_LASTING = word_set("minute minutes hour hours day days week weeks month months year years second seconds")

SEX, PERSON, DATE, PLURAL, PROPER = range(5)
"""Columns of a row that other features ask for."""
CLASSES = slice(5, 5 + len(NOUN_CLASSES))
VECTOR = slice(-SIZE, None)
"""Columns of a candidate's meaning, behind those of its look."""
_MEANT_WORDS = 6
_OF_THE_HEAD = 0.7


def is_proper(text: str, kind: CandidateKind) -> bool:
    """A name by its look: no digits, capitals but for the short words."""
    return kind in _NAMING and all(word[0].isupper() or len(word) <= 3 for word in text.split())


def _person(
    text: str, key: Sequence[str], kind: CandidateKind, sex: float, proper: bool, said_as_date: bool
) -> float:
    """From -1, no person, to 1, surely one."""
    if said_as_date or kind in ("quote", "clause", "list"):
        return -1.0
    if sex or gender(key):
        return 1.0
    heads = [singular(word) for word in key]
    organized = not (GROUPS.isdisjoint(heads) and WORKS.isdisjoint(heads))
    if organized or text[:4].lower() == "the " or " and " in text or any(word.isdigit() for word in key):
        return -1.0
    return {1: 0.2, 2: 0.4, 3: 0.2}.get(len(key), -1.0) if proper else -0.5


@lru_cache(maxsize=65536)
def look_row(text: str, key: tuple[str, ...], kind: CandidateKind) -> tuple[float, ...]:
    """The look of a candidate, numbers from -1 to 2."""
    sex = gender(key) if text[0].isupper() or kind == "phrase" else 0.0
    said_as_date = kind == "date" or is_date(key)
    proper = is_proper(text, kind)
    size, last = len(key), key[-1]
    head = singular(last)
    plural = (last.endswith("s") and not last.endswith("ss")) or " and " in text
    plural = plural or not PLURAL_PEOPLE.isdisjoint(key)
    first_word = text.split()[0].lower()
    described = kind == "section" and not all(t.is_capitalized for t in tokens(text) if t.normal in key)
    counted = not _COUNTING.isdisjoint(text)
    flags = (
        said_as_date,
        plural,
        proper,
        *(head in nouns for nouns in NOUN_CLASSES),
        text[0].isupper(),
        *(first_word in words for words in (ARTICLES, _OWNERS, _POINTERS)),
        *(size == count for count in (1, 2, 3)),
        size > 3,
        text[0].isdigit(),
        any(word[0].isdigit() for word in key),
        counted and _AMOUNT.search(text) is not None,
        text.rpartition(" ")[2].lower() in _LASTING,
        " " in text and text.isupper(),
        described,
        key[0].endswith("ing"),
        *(last.endswith(ending) for ending in ("ing", "ed", "ly")),
    )
    return (sex, _person(text, key, kind, sex, proper, said_as_date), *flags, min(size, 20) / 10, abs(sex))


def meanings(keys: Sequence[Sequence[str]]) -> Matrix:
    """What candidates mean: of each of *keys* the mean vector of its words, the last one counting more."""
    numbers: list[int] = []
    starts = []
    for key in keys:
        starts.append(len(numbers))
        numbers += [number_of(word) for word in key[-_MEANT_WORDS:]]
    rows = vectors(numbers)
    heads = rows[[*(start - 1 for start in starts[1:]), -1]]
    return normalized(np.add.reduceat(rows, starts)) + _OF_THE_HEAD * heads
