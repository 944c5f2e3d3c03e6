"""
What a report on a console is made of: headings, tables, lists and signatures.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from replay.core.terminal import escape_unprintable
from replay.report.columns import NONE, TextColumn, table_lines


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
    """As much of *text* as *width* has room for, at least 20 characters, on one line; a dash for None."""
    return NONE if text is None else textwrap.shorten(text, max(20, width), placeholder=" ...") or '""'


def print_table(
    console: Console, columns: Sequence[TextColumn], *, total: bool = False, below: Iterable[str] = ("",)
) -> None:
    """A table as wide as the console at most, then the lines *below* it; *total* sets the last row apart."""
    print_lines(console, [*table_lines(columns, width=console.width, total=total), *below])


def print_items(console: Console, items: Iterable[str], *, break_words: bool = True) -> None:
    """A list; *break_words* breaks a word that is longer than the console is wide."""
    wrapper = textwrap.TextWrapper(
        console.width,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=break_words,
    )
    for item in items:
        print_lines(console, wrapper.wrap(escape_unprintable(item, keep="\n")))


def section(console: Console, title: str, items: Iterable[str], *, break_words: bool = True) -> None:
    heading(console, title)
    print_items(console, items, break_words=break_words)


def print_signatures(console: Console, signatures: Mapping[str, str]) -> None:
    """One line each however narrow the console, so that it can be copied."""
    heading(console, "Signatures")
    width = max(map(len, signatures), default=0)
    print_lines(console, (f"{name.ljust(width)}  {signature}" for name, signature in signatures.items()))
