"""
Untrusted text made harmless to look at: nothing invisible, nothing that reorders its surroundings.

Escaping keeps a text from being taken for markup. What is left are characters that mislead a reader: a
right-to-left override turns a line around, a NUL may end a text early, a lone half of a surrogate pair
has no place in UTF-8. They are shown by sign or number instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
