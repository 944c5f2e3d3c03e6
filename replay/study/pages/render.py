"""The study's pages from templates, in the house's style; everything that goes in is escaped."""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment

from replay.core.terminal import clip
from replay.study.steps import Index, Passages, Transcript
from replay.web.app import content_policy, stamp_of
from replay.web.pages import STATIC, differing, make_environment

FOLDER = Path(__file__).resolve().parent
_FILES = {
    path.name: path
    for path in (STATIC / "page.css", STATIC / "theme.js", *sorted((FOLDER / "static").iterdir()))
}
"""All that a page loads."""
POLICY = content_policy()
# A fence and all to its end, or two lines and more of a table: with bars, with rulers, or with tabs.
_FIXED = re.compile(
    r"^[ ]{0,3}```[^\n]*\n(?:(?![ ]{0,3}```)[^\n]*\n)*[ ]{0,3}```[^\n]*(?:\n|\Z)"
    r"|(?:^[ ]{0,3}[|+][^\n]*(?:\n|\Z)){2,}"
    r"|(?:^[^\t\n]*\t[^\n]*(?:\n|\Z)){2,}",
    re.MULTILINE,
)


def render(template: str, /, **content: Any) -> str:
    """Return the page that *template* makes of *content*."""
    return _environment().get_template(template).render(stamp=_stamp(), **content)


def find(name: str) -> bytes | None:
    """Return the script or style that pages load by *name*; None where there is none."""
    return _FILES[name].read_bytes() if name in _FILES else None


@cache
def _environment() -> Environment:
    made = make_environment(FOLDER / "templates")
    made.filters.update(clipped=partial(clip, first=2_000, most=50_000))
    made.filters.update(pieces=pieces, differing=differing, paragraphs=paragraphs)
    made.tests.update(source=lambda block: isinstance(block, Passages | Index | Transcript))
    return made


@cache
def _stamp() -> str:
    return stamp_of(_FILES.values())


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of *text*, between blank lines; line breaks stay before items of a list."""
    return [
        re.sub(r" *\n *+(?!(?:[-*•–]|\d+[.)]) )", " ", paragraph.strip())
        for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    ]


class PagePiece(NamedTuple):
    """Part of a text."""

    text: str
    fixed: bool
    """Code, or rows of a table."""


def pieces(text: str) -> list[PagePiece]:
    """
    Return *text* in pieces by whether it has code or tables, which keep their lines and scroll on their own.

    None is empty; put together, they are the text, so that spans can be copied.
    """
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
