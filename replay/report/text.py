"""
A document in a terminal or a pipe.

A terminal gets sparklines and colour, see ``replay.report.trends``. Everything else gets ASCII, as far as
it is ours, so that a pipe with a modest encoding can take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.console import Console

from replay.core.terminal import escape_unprintable
from replay.report.columns import LAYOUTS, Layout, fit_names, fitting, table_lines
from replay.report.compare_document import comparison_document
from replay.report.document import (
    Block,
    Cases,
    ChartFigure,
    ItemList,
    Pairs,
    Paragraph,
    PlainLines,
    ReportDocument,
    ReportSection,
    Table,
    plain_text,
    with_remarks,
)
from replay.report.load_document import load_document
from replay.report.printing import (
    heading,
    print_items,
    print_lines,
    shorten,
)
from replay.report.run_document import run_document
from replay.report.trends import Trend, coloured_difference, has_person, print_trends, trend_note
from replay.statistics.failure_reasons import FailureReason
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_comparison import ComparisonReport
from replay.statistics.run_numbers import Report

NOT_HERE = ("assertions", "totals", "figures")
"""Sections for other outputs: the command line shows assertions by itself, and depth tables have totals."""


def print_report(report: Report, console: Console) -> None:
    """Print *report*, as compactly as the console's width asks for."""
    print_document(run_document(report), console)


def print_comparison(report: ComparisonReport, console: Console, *, flips: int = 0) -> None:
    """Print *report*; the turns that flipped are counted, and at most *flips* listed for each pair."""
    print_titled(comparison_document(report, flips=flips), console)


def print_load(
    summary: LoadSummary, console: Console, *, failures: Sequence[FailureReason] = (), full: bool = False
) -> None:
    """Print one screen of *summary* and why turns failed, or with *full* every table."""
    print_document(load_document(summary, failures=failures, full=full, bars=has_person(console)), console)


def print_titled(document: ReportDocument, console: Console) -> None:
    """Print *document* below its title."""
    heading(console, plain_text(document.title))
    print_lines(console, [""])
    print_document(document, console)


def print_document(document: ReportDocument, console: Console) -> None:
    """Print *document*, an empty line between its sections, as compactly as *console*'s width asks for."""
    shown = [section for section in document.sections if section.name not in NOT_HERE]
    remarks: list[str] = []
    folded: dict[str, None] = {}
    trends = has_person(console) and any(_trend(block) for one in shown for block in one.blocks)
    for place, section in enumerate(shown):
        if place:
            print_lines(console, [""])
        if section.title:
            heading(console, plain_text(section.title))
        layout = _layout(section.name, shown, console)
        before: Block | None = None
        for block in with_remarks(section, [*(trend_note(list(folded)) if trends else []), *remarks]).blocks:
            if before is not None and Paragraph in (type(block), type(before)):
                print_lines(console, [""])
            folded |= dict.fromkeys(_print_block(block, layout, console))
            before = block
        remarks += section.remarks


def _trend(block: Block) -> Trend | None:
    """Return what may be drawn below *block*."""
    return block.trend if isinstance(block, Table) and block.trend and block.trend.table.columns else None


def _layout(name: str, sections: Sequence[ReportSection], console: Console) -> Layout:
    """Return the layout that the tables of all *sections* of one name have in common."""
    blocks = [block for section in sections if section.name == name for block in section.blocks]
    tables = [block for block in blocks if isinstance(block, Table)]
    if not tables:
        return LAYOUTS[0]
    return fitting(console.width, lambda layout: [one.columns(layout) for one in tables])


def _print_block(block: Block, layout: Layout, console: Console) -> list[str]:
    """Print *block*; returns the scores that were folded for room."""
    match block:
        case Paragraph():
            for sentence in block.sentences:
                print_lines(console, wrap(escape_unprintable(sentence), console.width))
        case PlainLines():
            print_lines(console, block.lines)
        case ItemList():
            print_items(console, map(str, block.items))
        case Pairs():
            width = max(map(len, block.texts), default=0)
            print_lines(console, (f"{name.ljust(width)}  {text}" for name, text in block.texts.items()))
        case Cases():
            for case in block.cases:
                texts = (f"  {name:6}  {shorten(text, console.width - 10)}" for name, text in case.texts)
                print_lines(console, [shorten(case.title, console.width), *texts])
            print_lines(console, [block.more] if block.more else [])
        case Table():
            if (trend := _trend(block)) and has_person(console):
                return print_trends(trend, console)
            columns = fit_names(block.columns(layout), block.named, console.width)
            lines = table_lines(columns, width=console.width, total=block.total)
            print_lines(console, map(coloured_difference, lines) if block.signed else lines)
        case ChartFigure():
            pass
    return []
