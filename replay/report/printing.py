"""
Plain text as a console takes it: tables' columns, headings, lines and lists.

All our own characters are ASCII, so that a pipe with a modest encoding can take them. Columns of text cells
are put in the widest way that still fits a terminal. Not a table of rich's, which would squeeze numbers into
several lines: what doesn't fit goes into a further block below, with the first column repeated.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from replay.core.terminal import escape_unprintable
from replay.scorers.scorer import SHARE

GAP = "  "
NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How much room a table takes."""

    whole: bool
    """Interval bounds without decimals: ``52.3 [48, 56]``, not ``52.3 [48.1, 56.4]``."""


LAYOUTS = (Layout(whole=False), Layout(whole=True))
"""From the widest to the narrowest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A heading and one cell for every row."""

    head: str
    cells: tuple[str, ...]
    left: bool = False
    """Set flush left; numbers are flush right."""

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *self.cells)))

    def pad(self) -> list[str]:
        """Return heading and cells, all of the column's width."""
        width = self.width
        room = [(text, " " * (width - cell_len(text))) for text in (self.head, *self.cells)]
        return [text + space if self.left else space + text for text, space in room]


def column(head: str, cells: Iterable[str], *, left: bool = False) -> TextColumn:
    # Visible before its width is taken.
    return TextColumn(head=escape_unprintable(head), cells=tuple(map(escape_unprintable, cells)), left=left)


def depth_column(depths: Iterable[int | None]) -> TextColumn:
    """Return the column of *depths*, with ``all`` for None."""
    return column("depth", ("all" if depth is None else str(depth) for depth in depths))


def fitting(width: int, put: Callable[[Layout], Sequence[Sequence[TextColumn]]]) -> Layout:
    """Return the layout whose tables take the fewest blocks at *width*; of several the one that says most."""
    return min(LAYOUTS, key=lambda layout: max(len(blocks(columns, width)) for columns in put(layout)))


def table_lines(columns: Sequence[TextColumn], *, width: int, total: bool) -> list[str]:
    """
    Return the lines of a table, in as many blocks below each other as *width* asks for.

    *total* sets the last row apart. No line ends in a space.
    """
    lines: list[str] = []
    for block in blocks(columns, width):
        rule = "-" * _width(block)
        head, *rows = (GAP.join(cells).rstrip() for cells in zip(*(c.pad() for c in block), strict=True))
        if total:
            rows.insert(-1, rule)
        lines += ["", head, rule, *rows] if lines else [head, rule, *rows]
    return lines


class IntervalValue(Protocol):
    """A value with its interval."""

    @property
    def value(self) -> float | None: ...

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


class Value(NamedTuple):
    """One without an interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def score_cells(
    found: Iterable[IntervalValue | None], *, percent: bool, whole: bool, signed: bool = False
) -> tuple[str, ...]:
    """
    Return cells for values and their intervals, the values' points aligned.

    Per cent have one decimal, other scores three significant digits and no exponent; *signed* shows a plus
    too.
    """
    sign = "+" if signed else ""

    def number(value: float, whole: bool = False) -> str:
        if percent:
            text = format(100 * value, f"{sign}.{0 if whole else 1}f")
        else:
            text = _plain(value, sign, digits=2 if whole else 3)
        return text if any(digit in text for digit in "123456789") else text.replace("-", "")

    shown = [one or Value() for one in found]
    heads = [NONE if one.value is None else number(one.value) for one in shown]
    ranges = [
        ""
        if one.low is None or one.high is None
        else f"[{number(one.low, whole)}, {number(one.high, whole)}]"
        for one in shown
    ]
    width = max(map(len, heads), default=0)
    return tuple(
        f"{head.rjust(width)} {between}".rstrip() for head, between in zip(heads, ranges, strict=True)
    )


def column_head(name: str, unit: str) -> str:
    """
    Return a heading such as ``latency (s)``; of a share without a unit, which is named below the tables.
    """
    return name if unit in (SHARE, "") else f"{name} ({unit})"


def score_column(
    name: str, unit: str, found: Iterable[IntervalValue | None], layout: Layout, *, signed: bool = False
) -> TextColumn:
    """Return a score in *unit* under its name."""
    cells = score_cells(found, percent=unit == SHARE, whole=layout.whole, signed=signed)
    return column(column_head(name, unit), cells, left=True)


def p_text(p: float | None) -> str:
    """Return *p* as text, such as ``.012`` or ``<.001``; a dash for None."""
    return NONE if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _plain(value: float, sign: str, digits: int) -> str:
    text = format(value, f"{sign}.{digits}g")
    if "e" not in text:
        return text
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return format(value, f"{sign}.{max(0, decimals)}f")


def _width(columns: Sequence[TextColumn]) -> int:
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def blocks(columns: Sequence[TextColumn], width: int) -> list[list[TextColumn]]:
    """Return *columns* in as many groups as *width* asks for, the first column in each of them."""
    found = [[columns[0]]]
    for column in columns[1:]:
        if len(found[-1]) > 1 and _width([*found[-1], column]) > width:
            found.append([columns[0]])
        found[-1].append(column)
    return found


def fit_names(columns: Sequence[TextColumn], names: int, width: int) -> list[TextColumn]:
    """
    Return *columns*; where they don't fit *width*, those that name a row as one, which each block repeats.

    The first *names* of them name it, as far as they leave half of the width to the others.
    """
    while names and sum(one.width + len(GAP) for one in columns[:names]) > width / 2:
        names -= 1
    if names < 2 or len(blocks(columns, width)) == 1:
        return list(columns)
    head, *cells = (GAP.join(row) for row in zip(*(one.pad() for one in columns[:names]), strict=True))
    return [column(head, cells, left=True), *columns[names:]]


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
