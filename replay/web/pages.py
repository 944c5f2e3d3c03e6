"""
What the pages of all our servers share: their templates, and two texts shown word by word.

What goes into a template is escaped, and made harmless to look at (``replay.core.terminal``).

Of two texts it is marked what both have and what only one has. Against a gold answer words are compared as
the word-overlap scores compare them, without case and surrounding punctuation, so that what is marked is what
costs a score; elsewhere as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replay import __version__
from replay.core.terminal import visible

FOLDER = Path(__file__).resolve().parent
STATIC = FOLDER / "static"
"""What pages of all servers load: the style sheet and the choice of its theme."""


def make_environment(templates: Path) -> Environment:
    """Return what renders a folder of *templates*; values are escaped unless one says otherwise."""
    made = Environment(
        loader=FileSystemLoader([templates, FOLDER / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(json=_json, path=_path)
    made.globals.update(version=__version__)
    return made


def _harmless(value: Any) -> Any:
    """Called by the templates on every value that they print."""
    if isinstance(value, Markup):
        return value
    return visible(value) if isinstance(value, str) else "" if value is None else value


def _json(value: Any) -> Markup:
    """
    Return *value* for a script element that holds data.

    ``</script>``, ``<!--`` and the separators that end a line in older scripts can't stand in it.

    Raises:
        ValueError: a number in it is not finite, which JSON doesn't know.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _path(text: str) -> str:
    """*text* as one part of an address."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


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
