"""The study's pages from templates, in the house's style; everything that goes in is escaped."""

from __future__ import annotations

from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment

from replay.core.safe_text import clip
from replay.study.pages.differences import differing
from replay.study.pages.pieces import pieces
from replay.study.steps import Index, Passages, Transcript
from replay.viewer import assets
from replay.viewer.pages import make_environment

FOLDER = Path(__file__).resolve().parent
FILES = {
    "page.css": assets.FOLDER / "page.css",
    "theme.js": assets.FOLDER / "theme.js",
    "study.css": FOLDER / "static" / "study.css",
    "search.js": FOLDER / "static" / "search.js",
    "study.js": FOLDER / "static" / "study.js",
    "owner.js": FOLDER / "static" / "owner.js",
    "copy.js": FOLDER / "static" / "copy.js",
    "talk.js": FOLDER / "static" / "talk.js",
}
"""All that a page loads."""


def render(template: str, /, **content: Any) -> str:
    return _environment().get_template(template).render(stamp=stamp(), **content)


@cache
def _environment() -> Environment:
    made = make_environment(FOLDER / "templates")
    made.filters.update(clipped=partial(clip, first=2_000, most=50_000))
    made.filters.update(pieces=pieces, differing=differing)
    made.tests.update(source=lambda block: isinstance(block, Passages | Index | Transcript))
    return made


@cache
def stamp() -> str:
    """Changes with every file of ours, so that a browser keeps none too long."""
    return sha256(b"".join(path.read_bytes() for path in FILES.values())).hexdigest()[:12]


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The pages' Content-Security-Policy: their own files, nothing inline."""
