"""
What a report on a console is made of: headings, tables, lists and signatures.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from replay.report.columns import TextColumn, table_lines


def heading(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"), soft_wrap=True)


def put_lines(console: Console, lines: Iterable[str | Text]) -> None:
    for line in lines:
        # Text, so that square brackets in a name or an interval are never taken for markup.
        console.print(Text(line) if isinstance(line, str) else line, soft_wrap=True)


def put_table(
    console: Console, columns: Sequence[TextColumn], *, total: bool = False, below: Iterable[str] = ("",)
) -> None:
    """A table as wide as the console at most, then the lines *below* it; *total* sets the last row apart."""
    put_lines(console, [*table_lines(columns, width=console.width, total=total), *below])


def put_items(console: Console, items: Iterable[str], *, break_words: bool = True) -> None:
    """A list; *break_words* breaks a word that is longer than the console is wide."""
    wrapper = textwrap.TextWrapper(
        console.width,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=break_words,
    )
    for item in items:
        put_lines(console, wrapper.wrap(item))


def section(console: Console, title: str, items: Iterable[str], *, break_words: bool = True) -> None:
    heading(console, title)
    put_items(console, items, break_words=break_words)


def put_signatures(console: Console, signatures: Mapping[str, str]) -> None:
    """One line each however narrow the console, so that it can be copied."""
    heading(console, "Signatures")
    width = max(map(len, signatures), default=0)
    put_lines(console, (f"{name.ljust(width)}  {signature}" for name, signature in signatures.items()))
