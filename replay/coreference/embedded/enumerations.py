"""Lists in a text: "the Aero 13, the Vento 15 and the Pico S", bullets, numbered lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from replay.coreference.words import FUNCTION_WORDS, Token

Span = tuple[int, int]

# A run of spaces is looked at from its beginning alone: an answer may hold a megabyte of them.
_BULLET = re.compile(
    r"(?:^|(?<=[.:;!?])(?=\s)|(?<!\s)(?=[^\S\n]*+\n))\s*+(?:[-*•–]|\(?\d{1,2}[.)])\s++(?=\S)"
)
_MAY_HAVE = re.compile(r"[-*•–\n]|\d[.)]")
_ITEM_END = re.compile(r"(?!(?<=\s)\s)\s*(?:[:\n;?!]|\s[-–—]\s|\.(?:\s|$)|,\s|\s\()")
_MARKS = " \t*_\"“”'`"
_MOST_ITEM_WORDS = 6
_MOST_SAID = 16
_MOST_ITEMS = 12
_JOINS = frozenset({"and", "or", "&"})
_INSIDE = frozenset(
    {"of", "the", "a", "an", "de", "la", "for", "in", "'s", "’s", "my", "your", "his", "her", "its"}
)
_OPENS = frozenset({"the", "a", "an", "my", "your", "his", "her", "its", "their"})


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Several things named one after the other."""

    start: int
    end: int
    items: tuple[Span, ...]
    """Offsets in the text, in order; at least two."""

    def joined(self, text: str) -> str:
        """ "A, B and C", whatever stands between them in *text*."""
        if "\n" not in text[self.start : self.end] and len(text[self.start : self.end].split()) < _MOST_SAID:
            return text[self.start : self.end]
        names = [text[start:end] for start, end in self.items]
        return f"{', '.join(names[:-1])} and {names[-1]}"


def enumerations(text: str, line: Sequence[Token]) -> list[Enumeration]:
    """The lists of *text*, whose tokens are *line*, bulleted or numbered ones first."""
    found = []
    bullets = (
        [match.end() for match in islice(_BULLET.finditer(text), _MOST_ITEMS)]
        if _MAY_HAVE.search(text)
        else []
    )
    if len(bullets) > 1:
        items = tuple(item for start in bullets if (item := _headed(text, start)))
        if len(items) > 1:
            found.append(Enumeration(items[0][0], items[-1][1], items))
    return found + _joined(line)


def _headed(text: str, start: int) -> Span | None:
    """What a bullet's line is about: its words up to a colon, a dash or a comma."""
    ends = _ITEM_END.search(text, start)
    end = ends.start() if ends else len(text)
    words = list(islice(re.finditer(r"\S+", text[start:end]), _MOST_ITEM_WORDS))
    if not words:
        return None
    end = start + words[-1].end()
    while start < end and text[start] in _MARKS:
        start += 1
    while end > start and text[end - 1] in _MARKS:
        end -= 1
    return (start, end) if end > start else None


def _joined(line: Sequence[Token]) -> list[Enumeration]:
    found = []
    done = -1
    for at, token in enumerate(line):
        if token.normal not in _JOINS or at <= done:
            continue
        last = _item_after(line, at + 1)
        first = _item_before(line, at - (2 if at and line[at - 1].text == "," else 1), done)
        if last is None or first is None:
            continue
        items = [first, last]
        while items[0][0] > done + 2 and line[items[0][0] - 1].text == ",":
            earlier = _item_before(line, items[0][0] - 2, done)
            if earlier is None or len(items) >= _MOST_ITEMS:
                break
            items.insert(0, earlier)
        if _alike(line, items):
            spans = tuple((line[a].start, line[b].end) for a, b in items)
            found.append(Enumeration(spans[0][0], spans[-1][1], spans))
            done = items[-1][1]
    return found


def _belongs(token: Token) -> bool:
    plain = token.is_word and (
        token.normal not in FUNCTION_WORDS or (len(token.text) == 1 and token.is_capitalized)
    )
    return plain or token.normal in _INSIDE


def _item_after(line: Sequence[Token], at: int) -> tuple[int, int] | None:
    last = at
    while last < len(line) and last - at < _MOST_ITEM_WORDS and _belongs(line[last]):
        last += 1
    while last > at and line[last - 1].normal in _INSIDE:
        last -= 1
    return (at, last - 1) if last > at else None


def _item_before(line: Sequence[Token], at: int, done: int) -> tuple[int, int] | None:
    first = at
    while first > done and at - first < _MOST_ITEM_WORDS and _belongs(line[first]):
        first -= 1
        if line[first + 1].normal in _OPENS:
            break
    first += 1
    while first <= at and line[first].normal in _INSIDE - _OPENS:
        first += 1
    return (first, at) if first <= at and line[at].normal not in _INSIDE else None


def _alike(line: Sequence[Token], items: list[tuple[int, int]]) -> bool:
    """Whether the things named look alike: all with capitals or none, and of much the same length."""
    if len(items) > 2:
        return True
    capitals = [any(t.is_capitalized for t in line[a : b + 1]) for a, b in items]
    lengths = [b - a for a, b in items]
    return capitals[0] == capitals[1] and max(abs(x - y) for x, y in pairwise(lengths)) <= 2
