"""
A report as a document: sections of paragraphs, notes, tables, lists, cases and figures, whoever shows it.

What is shown of a run, of a comparison, of a load run or of tables is built once; ``text`` shows it in a
terminal or a pipe, ``markdown`` in a pull request's comment, ``latex`` as tables for a paper, ``notebook``
as HTML with figures. Names that others gave (to systems, policies, runs) are marked, since outputs have forms
of their own for them.

Scores over the depths are rows of bars as tall as the numbers they stand for, a character each. The bars of a
score compare between all systems and policies of a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from replay.report.printing import Layout, TextColumn
from replay.statistics.depth_table import FEW_CONVERSATIONS, DepthTable, GroupTable


class Name(str):
    """A name that others gave: shown letter by letter, whatever its characters mean elsewhere."""

    __slots__ = ()


Inline = str | tuple[str, ...]
"""A text, or one in parts, of which some are names."""


def plain_text(text: Inline) -> str:
    """Return *text* in one piece."""
    return text if isinstance(text, str) else "".join(text)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that stand below each other, each wrapped."""

    sentences: Sequence[str]


@dataclass(frozen=True, slots=True)
class PlainLines:
    """Short lines that stay as they are."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list, and those below it."""

    text: str
    below: Sequence[Item] | Sequence[str] = ()
    mark: str = ""
    """Whether it is well, ``ok`` or ``FAILED``, where that is asked."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list."""

    items: Sequence[str] | Sequence[Item]


@dataclass(frozen=True, slots=True)
class CaseText:
    """A turn, or a conversation's end: whose it is, then what was asked, answered and found there."""

    title: str
    texts: Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Cases:
    """Turns to look at, and a line on how many more there are."""

    cases: Sequence[CaseText]
    more: str = ""


BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 24
"""Bars at most; of longer rows, neighbours share one."""


def sparkline(values: Sequence[float | None], *, low: float, high: float) -> str:
    """
    Return a bar for each of *values*, from the lowest at *low* to the highest at *high*; a space for None.

    What lies beyond is drawn as the end it passed. Where *low* is *high*, all bars are half as tall. Of more
    than 24 values, as few neighbours as necessary share a bar, which is their mean.
    """
    together = max(1, math.ceil(len(values) / MOST_BARS))
    return "".join(
        _bar([value for value in values[start : start + together] if value is not None], low, high)
        for start in range(0, len(values), together)
    )


def _bar(values: Sequence[float], low: float, high: float) -> str:
    if not values:
        return " "
    if high <= low:
        return BARS[len(BARS) // 2 - 1]
    share = (sum(values) / len(values) - low) / (high - low)
    return BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]


TREND_NOTE = "trend: the score over the depths, from its lowest to its highest value under any policy."
NO_BAR = "\u00b7"
"""In the place of a space, which Markdown would drop."""

Scales = Mapping[str, tuple[float, float]]
"""The lowest and highest value of each score, for all groups, so that their bars compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One group's depth table with the scales of its scores."""

    group: GroupTable
    table: DepthTable
    scales: Scales


def scales(table: DepthTable) -> Scales:
    """
    Return the range of each score over the depths that several conversations have; over all if none has.
    """
    ends = {}
    for name in table.columns:
        rows = [row for group in table.groups for row in group.depths if row.scores[name].value is not None]
        rows = [row for row in rows if row.conversations >= FEW_CONVERSATIONS] or rows
        values = [value for row in rows if (value := row.scores[name].value) is not None]
        ends[name] = (min(values), max(values)) if values else (0.0, 0.0)
    return ends


def trend_bars(group: GroupTable, name: str, known: Scales) -> str:
    low, high = known[name]
    return sparkline([row.scores[name].value for row in group.depths], low=low, high=high)


def with_trends(scores: Sequence[TextColumn], table: DepthTable) -> list[TextColumn]:
    """
    Return *scores*, a column for each of the table's and a row for each group, with bars behind the numbers.
    """
    if not trend_notes(table):
        return list(scores)
    known = scales(table)
    return [
        replace(
            one,
            cells=tuple(
                f"{cell} {trend_bars(group, name, known).replace(' ', NO_BAR)}"
                for cell, group in zip(one.cells, table.groups, strict=True)
            ),
        )
        for name, one in zip(table.columns, scores, strict=True)
    ]


def trend_notes(table: DepthTable) -> list[str]:
    """Return a sentence on the bars of ``with_trends``; empty if the table has none."""
    several = any(len(group.depths) > 1 for group in table.groups)
    return [f"bars: {TREND_NOTE.removeprefix('trend: ')}"] if several and table.columns else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as wide as an output has room for."""

    columns: Callable[[Layout], Sequence[TextColumn]]
    named: int = 0
    """So many columns at the beginning hold names."""
    total: bool = False
    """The last row is set apart."""
    signed: bool = False
    """Its numbers are differences."""
    trend: Trend | None = None
    """What a terminal draws below the scores."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Texts by name, each on a line of its own, to be copied."""

    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChartFigure:
    """A Plotly figure, its colours written as ``replay.report.charts`` writes them."""

    title: str
    figure: Mapping[str, Any]


Block = Paragraph | PlainLines | ItemList | Cases | Table | Pairs | ChartFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """Blocks under a title."""

    name: str
    """What it is, in our own words: ``depth table``. Outputs choose and order sections by it."""
    title: Inline = ""
    lead: str = ""
    """What stands before the title where sections of other kinds surround it."""
    blocks: Sequence[Block] = ()
    folded: bool = False
    """Shown once somebody asks for it, where an output can do that."""
    remarks: Sequence[str] = ()
    """What is to be known to read it; among the notes of an output that shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument:
    """All sections, in their order."""

    title: Inline
    sections: Sequence[ReportSection]

    def select(self, names: Sequence[str]) -> list[ReportSection]:
        """Return the sections called one of *names*, in the order of those."""
        return [one for name in names for one in self.sections if one.name == name]


def with_remarks(section: ReportSection, remarks: Sequence[str]) -> ReportSection:
    """Return *section*; if it is the notes, with *remarks* on other sections behind its first list."""
    if section.name != "notes" or not remarks:
        return section
    first, *others = section.blocks
    return replace(section, blocks=[first, ItemList(remarks), *others])


def notes_section(*notes: Sequence[str], title: str = "Notes") -> ReportSection:
    """Return the section of *notes*: those on how to read the numbers, and all others."""
    return ReportSection(name="notes", title=title, blocks=[ItemList(some) for some in notes])
