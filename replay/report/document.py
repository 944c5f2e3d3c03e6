"""
A report as a document: sections of paragraphs, notes, tables, lists, cases and figures, whoever shows it.

What is shown of a run, of a comparison, of a load run or of tables is built once; ``text`` shows it in a
terminal or a pipe, ``markdown`` in a pull request's comment, ``latex`` as tables for a paper, ``notebook``
as HTML with figures. Names that others gave (to systems, policies, runs) are marked, since outputs have forms
of their own for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from replay.report.columns import Layout, TextColumn
from replay.report.trends import Trend


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
