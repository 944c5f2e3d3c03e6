"""
Two texts word by word: what both have, what only one has.

Against a gold answer words are compared as the word-overlap scores compare them, without case and surrounding
punctuation, so that what is marked is what costs a score; elsewhere as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

MOST_WORDS = 1500
"""Longer texts are not compared; the work grows with the square."""
ALIKE = 0.3
"""Texts that have a smaller share of their words in common differ as a whole."""

_PIECES = re.compile(r"\s*\S+")
_PUNCTUATION = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPiece:
    """Some words in a row, with the space before them."""

    text: str
    kind: str
    """``same``, ``added`` (only in the second text) or ``missing`` (only in the first)."""

    @property
    def words(self) -> str:
        """Without the space before them."""
        return self.text.lstrip()

    @property
    def space(self) -> str:
        """The white space before the words; not to be marked."""
        return self.text[: len(self.text) - len(self.words)]


def edit(before: str, after: str) -> list[DiffPiece]:
    """Return *before* turned into *after*: all words of both, in order."""
    first, second = _PIECES.findall(before), _PIECES.findall(after)
    if len(first) + len(second) > MOST_WORDS:
        return [DiffPiece(text=before, kind="missing"), DiffPiece(text=" " + after, kind="added")]
    pieces: list[tuple[str, str]] = []
    for operation, a0, a1, b0, b1 in _matcher(first, second).get_opcodes():
        if operation == "equal":
            pieces += [("same", word) for word in second[b0:b1]]
        else:
            pieces += [("missing", word) for word in first[a0:a1]]
            pieces += [("added", word) for word in second[b0:b1]]
    # A first word has no space before it, and may stand behind one of the other text's here.
    spaced = [(k, w if n == 0 or w[:1].isspace() else f" {w}") for n, (k, w) in enumerate(pieces)]
    return _join(spaced)


def against(gold: str, answer: str) -> tuple[list[DiffPiece], list[DiffPiece]] | None:
    """
    Return *gold* with the words that *answer* lacks marked, and *answer* with those that *gold* lacks.

    None when they are too long to compare.
    """
    first, second = _PIECES.findall(gold), _PIECES.findall(answer)
    if len(first) + len(second) > MOST_WORDS:
        return None
    matcher = SequenceMatcher(None, _keys(first), _keys(second), autojunk=False)
    common = [block for block in matcher.get_matching_blocks() if block.size]
    in_gold = {block.a + i for block in common for i in range(block.size)}
    in_answer = {block.b + i for block in common for i in range(block.size)}
    return (
        _join([("same" if i in in_gold else "missing", word) for i, word in enumerate(first)]),
        _join([("same" if i in in_answer else "added", word) for i, word in enumerate(second)]),
    )


def differing(text: str, other: str) -> list[DiffPiece]:
    """Return *text* in pieces, which together are it, by whether *other* has them in that place, too."""
    first, second = _PIECES.findall(other), _PIECES.findall(text)
    matcher = _matcher(first, second)
    if len(first) + len(second) > MOST_WORDS or matcher.ratio() < ALIKE:
        return [DiffPiece(text=text, kind="added")]
    pieces = [
        ("same" if operation == "equal" else "added", word)
        for operation, _, _, begin, end in matcher.get_opcodes()
        for word in second[begin:end]
    ]
    return _join([*pieces, ("same", text[len("".join(second)) :])])


def _matcher(first: Sequence[str], second: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, list(map(str.strip, first)), list(map(str.strip, second)), autojunk=False)


def _keys(words: Sequence[str]) -> list[str]:
    return [_PUNCTUATION.sub("", word.strip()).casefold() or word.strip() for word in words]


def _join(pieces: Iterable[tuple[str, str]]) -> list[DiffPiece]:
    return [
        DiffPiece(kind=kind, text="".join(word for _, word in words))
        for kind, words in groupby(pieces, key=lambda piece: piece[0])
    ]
