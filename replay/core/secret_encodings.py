"""
Where in a text certain words stand: as they are, and as addresses, JSON and HTML pages spell them.

Each sign of a word that is no letter or digit of ASCII may stand for itself or as an escape: ``%2b`` (and
``+`` for a space), ``\\u002B``, a backslash before a quotation mark, a slash or another backslash, ``&#43;``,
``&#x2B;``, ``&amp;``. JSON in JSON has more backslashes and nothing else, so up to eight are taken for one.
Escapes of other escapes are not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from html import escape

BEGINNING = 8
"""So many characters at the end of a text that was cut off may be the beginning of a word."""

_PLAIN = re.compile("[A-Za-z0-9]+")
_BACKSLASHES = r"\\{1,8}"
_BEGUN = re.compile(rf"(?:%\w?|{_BACKSLASHES}(?:u\w{{0,3}})?|&#?\w{{0,6}})?\Z")
"""An escape that a text breaks off in, or the text's end."""


@lru_cache(maxsize=1024)
def _sign(sign: str) -> str:
    """Return the pattern of *sign* in each of its spellings."""
    if _PLAIN.fullmatch(sign):
        return sign
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    in_json = json.dumps(sign)[1:-1]
    forms = [
        f"(?i:{''.join(f'%{byte:02x}' for byte in sign.encode('utf-8', 'surrogatepass'))})",
        f"(?i:{''.join(f'{_BACKSLASHES}u{units[at : at + 4]}' for at in range(0, len(units), 4))})",
        f"&#0*{ord(sign)};",
        f"(?i:&#x0*{ord(sign):x};)",
    ]
    if escape(sign) != sign:
        forms.append(re.escape(escape(sign)))
    if sign == " ":
        forms.append(r"\+")
    if sign == "/" or (len(in_json) == 2 and in_json[0] == "\\"):
        forms.append(_BACKSLASHES + re.escape(in_json[-1]))
    return f"(?:{'|'.join((*forms, re.escape(sign)))})"


class SecretMatcher:
    """Some words, and how to find them."""

    def __init__(self, words: Iterable[str]) -> None:
        # The longest first, so that no part of one is left when a shorter one stands in it.
        self.plain: Sequence[str] = sorted(set(words), key=lambda word: (-len(word), word))

    @cached_property
    def _cores(self) -> set[str]:
        """Return of each word what is never escaped: to look for that is many times as fast."""
        return {max(_PLAIN.findall(word), key=len, default="") for word in self.plain}

    @cached_property
    def _spelled(self) -> re.Pattern[str]:
        return re.compile(f"(?=({'|'.join(''.join(map(_sign, word)) for word in self.plain)}))")

    def places(self, text: str, *, cut: bool = False) -> list[tuple[int, int]]:
        """Return where they stand in *text*, in order; in a *cut* one also half a word at its end."""
        places = []
        if any(core in text for core in self._cores):
            places = [match.span(1) for match in self._spelled.finditer(text)]
        if cut:
            places = sorted([*places, *((begin, len(text)) for begin in self._begun(text))])
        found: list[tuple[int, int]] = []
        for first, last in places:
            if found and first <= found[-1][1]:
                first, last = found[-1][0], max(last, found.pop()[1])
            found.append((first, last))
        return found

    def _begun(self, text: str) -> Iterator[int]:
        """Yield where words begin that *text* breaks off in."""
        for word in self.plain:
            for match in re.finditer("".join(map(_sign, word[:BEGINNING])), text):
                end = match.end()
                for sign in word[BEGINNING:]:
                    following = re.compile(_sign(sign)).match(text, end)
                    if following is None:
                        break
                    end = following.end()
                if _BEGUN.match(text, end):
                    yield match.start()
