"""
What a terminal is given: texts in which nothing hides, and nothing that a terminal obeys.

Names, data, replies and errors come from others. An escape sequence in one of them could erase a line above,
colour, link or answer for the user; characters that turn the direction of writing around show another text
than the one that is there (Boucher and Anderson, Trojan Source, 2021). And a job's log obeys as well: GitHub
takes ``::add-mask::`` at the beginning of a line, and ``##[set-output`` anywhere in one, for commands to its
runner. So whatever this program prints goes through ``visible``: by way of ``replay.cli.output`` where we
print, and of ``guard_streams`` where Python or somebody's library does.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable
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
