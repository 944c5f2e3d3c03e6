"""
What is printed on a console: headings, lines and lists.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from replay.core.terminal import escape_unprintable
from replay.report.columns import NONE


class VisibleConsole(Console):
    """
    A console that takes no text for markup, and writes no escape sequence that a text holds.

    Whatever is printed to it, its own progress display included, is rendered here.
    """

    def __init__(self, file: TextIO, *, plain: bool = False) -> None:
        """With *plain*, *file* gets text alone, also where FORCE_COLOR is set, as notebooks' kernels do."""
        super().__init__(
            file=file,
            markup=False,
            emoji=False,
            highlight=False,
            force_terminal=False if plain else None,
            force_jupyter=False,  # in a notebook rich would show HTML there, whatever *file* is
        )

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else escape_unprintable(segment.text, keep="\n")
            yield segment._replace(text=text)


def heading(console: Console, text: str) -> None:
    print_lines(console, [Text(escape_unprintable(text), style="bold")])


def print_lines(console: Console, lines: Iterable[str | Text]) -> None:
    for line in lines:
        # Text, so that square brackets in a name or an interval are never taken for markup.
        console.print(Text(escape_unprintable(line)) if isinstance(line, str) else line, soft_wrap=True)


def shorten(text: str | None, width: int) -> str:
    """Return *text* on one line, cut to *width* characters (at least 20); a dash for None."""
    return NONE if text is None else textwrap.shorten(text, max(20, width), placeholder=" ...") or '""'


def print_items(console: Console, items: Iterable[str]) -> None:
    """Print a list; a word that is longer than the console is wide stays whole, so that it can be copied."""
    wrapper = textwrap.TextWrapper(
        console.width,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    for item in items:
        print_lines(console, wrapper.wrap(escape_unprintable(item, keep="\n")))
