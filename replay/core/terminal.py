"""
What a terminal is given: texts in which nothing hides, and nothing that a terminal obeys.

Names, data, replies and errors come from others. An escape sequence in one of them could erase a line above,
colour, link or answer for the user; characters that turn the direction of writing around show another text
than the one that is there (Boucher and Anderson, Trojan Source, 2021). And a job's log obeys as well: GitHub
takes ``::add-mask::`` at the beginning of a line, and ``##[set-output`` anywhere in one, for commands to its
runner. So whatever this program prints goes through ``visible``: by way of ``replay.cli.output`` where we
print, and of ``guard_streams`` where Python or somebody's library does.

Untrusted text made harmless to look at: nothing invisible, nothing that reorders its surroundings.

Escaping keeps a text from being taken for markup. What is left are characters that mislead a reader: a
right-to-left override turns a line around, a NUL may end a text early, a lone half of a surrogate pair
has no place in UTF-8. They are shown by sign or number instead.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Any, TextIO

_COMMAND = re.compile(
    r"(?<![\w:])::(?=[a-z])"
    r"|::(?=(?:add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|internal-set-repo-path|notice"
    r"|remove-matcher|save-state|set-env|set-output|stop-commands|warning)(?![\w-]))"
    r"|##(?=\w*\[)",
    re.IGNORECASE,
)
"""
What may begin a command to who reads a job's log, as GitHub, Azure (``##vso[``) and TeamCity.

A line may be broken before any character of it, so that the names that GitHub knows count anywhere; other
names only where no word goes on, as in ``std::vector``.
"""

_SHOWN = frozenset(("Zs", "Co"))
"""Categories that aren't "printable" to Python and that can still be seen: spaces, and private characters."""


def escape_unprintable(text: str, *, keep: str = "") -> str:
    r"""
    Return *text* with unprintable characters and terminal controls written as escapes.

    Those are control characters (C0 and C1), format characters (direction, zero width), line and paragraph
    separators, halves of surrogate pairs and unassigned characters. Those in *keep* stay. So is the first
    character of what begins a command in a job's log (``\x3a:error``).
    """
    text = _COMMAND.sub(lambda found: f"\\x{ord(found[0][0]):02x}{found[0][1]}", text)
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in keep or unicodedata.category(character) in _SHOWN
        else character.encode("unicode_escape").decode()
        for character in text
    )


def visible_json(text: str) -> str:
    r"""Return *text*, which is JSON, with JSON's own escapes (``\u001b``); line breaks stay."""
    text = _COMMAND.sub(lambda found: f"\\u{ord(found[0][0]):04x}{found[0][1]}", text)
    return re.sub("[^ -~\n]", lambda found: _in_json(found[0]), text)


def _in_json(character: str) -> str:
    return character if escape_unprintable(character) == character else json.dumps(character)[1:-1]


def on_one_line(text: str) -> str:
    """Return *text*, visible, with its line breaks as spaces."""
    return escape_unprintable(re.sub(r"\s", " ", text))


class GuardedStream:
    """A text stream, all of whose texts are made visible; for the rest it is the stream that it guards."""

    encoding = "utf-8"
    """Whatever the stream has: click would write around us to a stream in ASCII."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)

    def write(self, text: str) -> int:
        self.unguarded.write(escape_unprintable(text, keep="\n\t"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))


def guard_streams() -> None:
    """Make visible whatever this process prints from now on to standard output and standard error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, GuardedStream):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # no text ends the program
            setattr(sys, name, GuardedStream(stream))


def unwrap_stream(stream: TextIO) -> TextIO:
    """Return the stream that *stream* guards, for code that makes texts visible itself."""
    return stream.unguarded if isinstance(stream, GuardedStream) else stream


_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return *text* with unsafe characters made visible: ``␀`` for NUL, ``⟨U+202E⟩`` for an override."""
    return _UNSAFE.sub(lambda found: _sign(found[0]), text.replace("\r\n", "\n"))


def _sign(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return f"⟨U+{code:04X}⟩"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedText:
    """The beginning of a text, and how much there is beside it."""

    text: str
    rest: str
    """What follows, as far as a page still takes it; empty when all is in *text*."""
    left_out: int
    """Characters that are in neither."""


def clip(text: str, *, first: int, most: int) -> ClippedText:
    """
    Return *text* split into a part to show first and the rest.

    Args:
        text: Any text.
        first: About as many characters are shown first, up to a space; a text that is little longer is whole.
        most: As many characters are kept at all.
    """
    if len(text) <= first * 5 // 4:
        return ClippedText(text=text, rest="", left_out=0)
    space = text.rfind(" ", first // 2, first)
    cut = space if space > 0 else first
    return ClippedText(text=text[:cut], rest=text[cut:most], left_out=max(0, len(text) - most))
