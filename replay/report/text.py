"""
A report as text: a table for each system and policy, what the policies change against gold on the same
turns, then notes in words and the signatures.

A terminal gets sparklines and colour, see ``replay.report.terminal``. Everything else gets ASCII, as far as
it is ours, so that a pipe with a modest encoding can take it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from replay.report.columns import fitting, table_lines
from replay.report.depth_cells import (
    depth_columns,
    gap_columns,
    interval_note,
    latency_lines,
    names_of,
    scale_note,
)
from replay.report.notes import notes
from replay.report.terminal import coloured_difference, has_person, print_group, scales, trend_note
from replay.statistics.run_numbers import Report


def print_report(report: Report, console: Console) -> None:
    """Print *report*, as compactly as the console's width asks for."""
    table, gaps = report.table, report.gaps
    if not table.groups:
        console.print("No turn has been asked yet.")
        return
    about_trends = _tables_for_people(report, console) if has_person(console) else _tables(report, console)
    if gaps:
        layout = fitting(console.width, lambda layout: [gap_columns(gaps, layout)])
        _heading(console, f"Against {names_of(g.first.policy for g in gaps)}, on the same turns")
        lines = table_lines(gap_columns(gaps, layout), width=console.width, total=False)
        for line in lines:
            console.print(coloured_difference(line), soft_wrap=True)
        _lines(console, [""])
    said = [scale_note(table), interval_note(table), *about_trends, *notes(report)]
    _section(console, "Notes", said)
    scores = {name: column.signature for name, column in table.columns.items()}
    _signatures(console, {**scores, **report.signatures})


def _tables(report: Report, console: Console) -> list[str]:
    table = report.table
    layout = fitting(console.width, lambda layout: [depth_columns(g, table, layout) for g in table.groups])
    for group in table.groups:
        _heading(console, str(group.group))
        lines = table_lines(depth_columns(group, table, layout), width=console.width, total=True)
        _lines(console, [*lines, *latency_lines(group.total), ""])
    return []


def _tables_for_people(report: Report, console: Console) -> list[str]:
    """With sparklines; returns what is to be said of them."""
    known = scales(report.table)
    folded: dict[str, None] = {}
    for group in report.table.groups:
        _heading(console, str(group.group))
        folded |= dict.fromkeys(print_group(group, report.table, console, known))
        _lines(console, [*latency_lines(group.total), ""])
    return trend_note(list(folded)) if report.table.columns else []


def _heading(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"))


def _lines(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        # Text, so that square brackets in a name or an interval are never taken for markup.
        console.print(Text(line), soft_wrap=True)


def _section(console: Console, title: str, lines: Sequence[str]) -> None:
    _heading(console, title)
    for line in lines:
        wrapper = textwrap.TextWrapper(console.width, initial_indent="- ", subsequent_indent="  ")
        wrapper.break_on_hyphens = False
        _lines(console, wrapper.wrap(line))
    _lines(console, [""])


def _signatures(console: Console, signatures: Mapping[str, str]) -> None:
    _heading(console, "Signatures")
    width = max(map(len, signatures), default=0)
    # One line each however narrow the terminal, so that it can be copied.
    _lines(console, (f"{name.ljust(width)}  {signature}" for name, signature in signatures.items()))
