"""
WordPiece tokens with their character offsets (Devlin et al., NAACL 2019; Wu et al., 2016, section 4.1), lower
case.

Differs from BERT's own tokenizer in what English text doesn't hold: no rules for Chinese characters, and
pieces of other scripts are left out of the vocabulary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_LONGEST_WORD = 40
"""In characters; a longer one is one unknown token, as everything in a wall of letters would be."""

_REMEMBERED_WORDS = 20_000


class WordPieceToken(NamedTuple):
    """One piece of a word, and where it stands."""

    id: int
    start: int
    end: int
    """Character offsets in the text, end exclusive."""
    is_first: bool
    """Whether a word begins with it."""


class WordPiece:
    """Cuts text into the pieces of a vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self.vocabulary = vocabulary
        self.start: int = vocabulary[START]
        self.end: int = vocabulary[END]
        self._unknown = vocabulary[UNKNOWN]
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}

    @classmethod
    def load(cls, path: Path) -> WordPiece:
        """Read the vocabulary in *path*, a piece a line."""
        return cls({piece: number for number, piece in enumerate(path.read_text("utf-8").splitlines())})

    def tokens(self, text: str) -> Iterator[WordPieceToken]:
        """Yield the pieces of *text* in order."""
        for word in _WORD.finditer(text):
            at, end = word.span()
            pieces = self._pieces_of(word[0])
            if sum(length for _, length in pieces) != end - at:  # accents that were several characters
                pieces = pieces[:1]
            for number, (piece, length) in enumerate(pieces):
                stop = end if number == len(pieces) - 1 else at + length
                yield WordPieceToken(piece, at, stop, number == 0)
                at = stop

    def _pieces_of(self, word: str) -> tuple[tuple[int, int], ...]:
        # Conversations repeat their words.
        pieces = self._known.get(word)
        if pieces is None:
            if len(self._known) >= _REMEMBERED_WORDS:
                self._known.clear()
            pieces = self._known[word] = self._cut(word)
        return pieces

    def _cut(self, word: str) -> tuple[tuple[int, int], ...]:
        """Return the id and the length of each piece of *word*."""
        plain = _without_accents(word.lower())
        if not plain or len(plain) > _LONGEST_WORD:
            return ((self._unknown, len(word)),)
        pieces: list[tuple[int, int]] = []
        at = 0
        while at < len(plain):
            for end in range(len(plain), at, -1):
                piece = self.vocabulary.get(("##" if at else "") + plain[at:end])
                if piece is not None:
                    pieces.append((piece, end - at))
                    at = end
                    break
            else:
                return ((self._unknown, len(word)),)
        return tuple(pieces)


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
