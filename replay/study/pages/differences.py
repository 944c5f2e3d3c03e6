"""What one text has that another one, which stands beside it, has not: word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

MOST_WORDS = 600
"""Of either text; a longer one is marked as a whole, since comparing takes the square of that."""
ALIKE = 0.4
"""Texts that have a smaller share of their words in common differ as a whole."""


class DifferingPiece(NamedTuple):
    """Part of a text."""

    text: str
    differs: bool


def differing(text: str, other: str) -> list[DifferingPiece]:
    """Return *text* in pieces, which together are it, by whether *other* has them in that place, too."""
    words, others = re.findall(r"\s+|\S+", text), re.findall(r"\s+|\S+", other)
    if max(len(words), len(others)) > 2 * MOST_WORDS:
        return [DifferingPiece(text, True)]
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [DifferingPiece(text, True)]
    return [
        DifferingPiece("".join(words[start:end]), kind != "equal")
        for kind, start, end, _, _ in matcher.get_opcodes()
        if end > start
    ]
