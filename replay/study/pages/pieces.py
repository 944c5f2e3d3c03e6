"""Where a text has code or tables: they keep their lines, and scroll on their own where too wide."""

from __future__ import annotations

import re
from typing import NamedTuple

# A fence and all to its end, or two lines and more of a table: with bars, with rulers, or with tabs.
_FIXED = re.compile(
    r"^[ ]{0,3}```[^\n]*\n(?:(?![ ]{0,3}```)[^\n]*\n)*[ ]{0,3}```[^\n]*(?:\n|\Z)"
    r"|(?:^[ ]{0,3}[|+][^\n]*(?:\n|\Z)){2,}"
    r"|(?:^[^\t\n]*\t[^\n]*(?:\n|\Z)){2,}",
    re.MULTILINE,
)


class PagePiece(NamedTuple):
    """Part of a text."""

    text: str
    fixed: bool
    """Code, or rows of a table."""


def pieces(text: str) -> list[PagePiece]:
    """*text* in pieces, none of them empty; put together, they are the text, so that spans can be copied."""
    found: list[PagePiece] = []
    end = 0
    for match in _FIXED.finditer(text):
        if match.start() > end:
            found.append(PagePiece(text[end : match.start()], False))
        found.append(PagePiece(match[0], True))
        end = match.end()
    if end < len(text):
        found.append(PagePiece(text[end:], False))
    return found
