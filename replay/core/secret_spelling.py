"""
Where in a text certain words stand, however they are spelled there.

A server that repeats a key may spell it as an address does (``%2b``, and ``+`` for a space), as JSON and
programs do (``\\u002B``, ``\\x2b``, a backslash before any sign), as a page does (``&#43;``, ``&#x2B;``,
``&plus;``), and all of that once more. So a text is compared by what it comes to when all escapes are taken
off, layer by layer, and each layer keeps where its characters came from. The words are read in the same way,
which makes right what taking off alone gets wrong: a word that has backslashes or ``%41`` of its own.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from html.entities import html5
from typing import NamedTuple
from urllib.parse import unquote

LAYERS = 4
"""So many escapes of escapes are taken off."""
LEAST = 6
"""What comes to fewer characters ("%20%20%20") can't be told from any text."""
BEGINNING = 8
"""So many characters at the end of a text that was cut off may be the beginning of a word."""

_H = "[0-9A-Fa-f]"
_ASCII = f"[2-7]{_H}"
_RUN = r"(?<!\\)\\++"
"""All backslashes of a text in a text in a text; looked at once, however many there are."""
_NARROW = (
    rf"%{_ASCII}|{_RUN}(?:u00{_ASCII}|x{_ASCII}|U000000{_ASCII}|u\{{0{{0,6}}{_ASCII}\}})"
    rf"|&(?:#0{{0,7}}1?\d\d(?!\d);?|#[xX]0{{0,7}}{_ASCII}(?!{_H});?|(?:NAMES);?)"
)
"""Escapes of ASCII; a text in Chinese, escaped throughout, is passed over quickly."""
_WIDE = (
    rf"{_NARROW}|%[C-Fc-f]{_H}(?:%[89ABab]{_H})+|{_RUN}u[Dd][89ABab]{_H}{{2}}{_RUN}u[Dd][C-Fc-f]{_H}{{2}}"
    rf"|{_RUN}(?:u{_H}{{4}}|x{_H}{{2}}|U{_H}{{8}}|u\{{{_H}{{1,6}}\}})"
    rf"|&(?:#0{{0,7}}\d{{1,7}};?|#[xX]0{{0,7}}{_H}{{1,6}};?|\w{{1,31}};)"
)
_BEGIN_NARROW, _BEGIN_WIDE = ("\\u00", "\\x", "\\U", "\\u{"), ("\\u", "\\x", "\\U")
_OF_ESCAPES = frozenset("&%\\#;xuU{}0123456789abcdefABCDEF")
"""What escapes are made of, and so what the escapes of escapes stand for."""
LONGEST_ESCAPE = 16
_BACKSLASHES = re.compile(r"\\+")
_BEGUN = re.compile(rf"(?:%{_H}?|{_RUN}(?:u\{{?{_H}{{0,5}}|x{_H}?|U{_H}{{0,7}})?|&#?\w{{0,9}})\Z")
"""An escape that a text breaks off in."""


@lru_cache(maxsize=64)
def _escapes_of(signs: frozenset[str]) -> re.Pattern[str]:
    """Finds the escapes of *signs*; what stands for others ends a word anyway, whether it is read or not."""
    named = sorted(name[:-1] for name, sign in html5.items() if sign in signs and name[-1] == ";")
    return re.compile((_NARROW if all(map(str.isascii, signs)) else _WIDE).replace("NAMES", "|".join(named)))


class _Layer(NamedTuple):
    """A text without one layer of escapes, and where in the text before it each stretch of it came from."""

    text: str
    starts: list[int]
    origins: list[int]

    def origin(self, place: int) -> int:
        index = bisect_right(self.starts, place) - 1
        return self.origins[index] + place - self.starts[index]


class Words:
    """Some words, and how to find them."""

    __slots__ = ("_begin", "_escapes", "_read", "plain")

    def __init__(self, words: Iterable[str]) -> None:
        # The longest first, so that no part of one is left when a shorter one stands in it.
        self.plain: Sequence[str] = sorted(set(words), key=lambda word: (-len(word), word))
        signs = _OF_ESCAPES.union(*self.plain)
        self._begin = _BEGIN_NARROW if all(map(str.isascii, signs)) else _BEGIN_WIDE
        self._escapes = _escapes_of(signs)
        read = {self._comes_to(word) for word in self.plain}
        self._read = sorted((word for word in read if len(word.strip()) >= LEAST), key=len)[::-1]

    def _comes_to(self, text: str) -> str:
        for _ in range(LAYERS):
            before = text
            # Looking for a sign is many times as fast as looking for escapes.
            if "%" in text or "&" in text or ("\\" in text and any(begin in text for begin in self._begin)):
                text = self._escapes.sub(_character_of, text)
            if text == before:
                break
        return text.replace("\\", "").replace("+", " ")

    def are_in(self, text: str) -> bool:
        """Whether one of them stands in *text*, in whatever spelling."""
        read = self._comes_to(text)
        return any(word in read for word in self._read)

    def places(self, text: str, *, cut: bool = False) -> list[tuple[int, int]]:
        """Where they stand in *text*, apart and in order; in a *cut* one also half a word at its end."""
        if not cut and not self.are_in(text):
            return []
        end = _BEGUN.search(text, max(0, len(text) - LONGEST_ESCAPE)) if cut else None
        layers = [self._layer(text if end is None else text[: end.start()], self._escapes)]
        while len(layers[-1].starts) > 1 and len(layers) < LAYERS:
            layers.append(self._layer(layers[-1].text, self._escapes))
        layers.append(self._layer(layers[-1].text, _BACKSLASHES))
        found: list[tuple[int, int]] = []
        for place in sorted(self._found(layers[-1].text.replace("+", " "), cut)):
            # A backslash behind a word is not the word's, and the layer without them skips it.
            first, last = layers[-1].origin(place[0]), layers[-1].origin(place[1] - 1) + 1
            for layer in reversed(layers[:-1]):
                first, last = layer.origin(first), layer.origin(last)
            while first and text[first - 1] == "\\":
                first -= 1
            if end is not None and last == end.start():
                last = len(text)
            if found and first <= found[-1][1]:
                first, last = found[-1][0], max(last, found.pop()[1])
            found.append((first, last))
        return found

    def _found(self, read: str, cut: bool) -> Iterator[tuple[int, int]]:
        for word in self._read:
            place = read.find(word)
            while place >= 0:
                yield place, place + len(word)
                place = read.find(word, place + 1)
            if cut:
                # The word may have had an escape of its own there, of which a beginning is left.
                begun = _BEGUN.search(read, max(0, len(read) - LONGEST_ESCAPE))
                ends = (len(read), begun.start()) if begun else (len(read),)
                place = read.find(word[:BEGINNING], max(0, len(read) - len(word) - LONGEST_ESCAPE))
                while place >= 0:
                    if any(word.startswith(read[place:end]) for end in ends):
                        yield place, len(read)
                        break
                    place = read.find(word[:BEGINNING], place + 1)

    def _layer(self, text: str, escapes: re.Pattern[str]) -> _Layer:
        pieces: list[str] = []
        starts, origins, size = [0], [0], 0
        for match in escapes.finditer(text):
            sign = "" if escapes is _BACKSLASHES else _character_of(match)
            if sign == match[0]:
                continue
            piece = text[origins[-1] : match.start()]
            pieces += (piece, sign)
            size += len(piece) + len(sign)
            starts.append(size)
            origins.append(match.end())
        return _Layer("".join((*pieces, text[origins[-1] :])), starts, origins)


def _character_of(match: re.Match[str]) -> str:
    escape = match[0]
    # A run of backslashes may be as long as a reply, and is not to be remembered.
    return _remembered(escape) if len(escape) <= LONGEST_ESCAPE else _character(escape)


def _character(escape: str) -> str:
    """What *escape* stands for; itself where that is nothing."""
    if escape[0] == "%":
        return unquote(escape)
    if escape[0] == "&":
        closed = escape if escape[-1] == ";" else f"{escape};"
        read = unescape(closed)
        return escape if read == closed else read
    codes = [int(code, 16) for code in re.findall(rf"{_H}+", escape)]
    if len(codes) == 2:  # halves of a character that is none of the first 65,536
        return bytes.fromhex(f"{codes[0]:04x}{codes[1]:04x}").decode("utf-16-be")
    return chr(codes[0]) if codes[0] <= sys.maxunicode else escape


_remembered = lru_cache(maxsize=4096)(_character)
