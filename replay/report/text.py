"""
A report as text: a table for each system and policy, what the policies change against gold on the same
turns, then notes in words and the signatures.

A terminal gets sparklines and colour, see ``replay.report.terminal``. Everything else gets ASCII, as far as
it is ours, so that a pipe with a modest encoding can take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.console import Console

from replay.core.terminal import escape_unprintable
from replay.report.checks_text import print_checks
from replay.report.columns import fitting, table_lines
from replay.report.depth_cells import (
    depth_columns,
    gap_columns,
    interval_note,
    latency_lines,
    names_of,
    scale_note,
)
from replay.report.failure_text import failure_lines
from replay.report.interventions_text import print_interventions
from replay.report.notes import notes
from replay.report.passed_checks import without_passed_checks
from replay.report.people_text import print_people
from replay.report.printing import heading, print_lines, print_signatures, print_table, section
from replay.report.repeats_text import print_repeats
from replay.report.rewriting_text import conclusions
from replay.report.survival_text import print_survival
from replay.report.terminal import coloured_difference, has_person, print_group, trend_note
from replay.report.trends import scales
from replay.statistics.failure_reasons import FailureReason
from replay.statistics.run_numbers import Report


def print_report(report: Report, console: Console) -> None:
    """Print *report*, as compactly as the console's width asks for."""
    report = without_passed_checks(report)
    table, gaps = report.table, report.gaps
    if not table.groups:
        console.print("No turn has been asked yet.")
        if report.remarks:
            section(console, "Notes", list(report.remarks))
        return
    about_trends = _tables_for_people(report, console) if has_person(console) else _tables(report, console)
    if not gaps:
        _print_conclusions(report, console)
    if report.checks:
        print_checks(report.checks, console)
    if report.survival:
        print_survival(report.survival, console)
    if gaps:
        layout = fitting(console.width, lambda layout: [gap_columns(gaps, layout)])
        heading(console, f"Against {names_of(g.first.policy for g in gaps)}, on the same turns")
        lines = table_lines(gap_columns(gaps, layout), width=console.width, total=False)
        print_lines(console, [*map(coloured_difference, lines), ""])
        _print_conclusions(report, console)
    print_interventions(report.interventions, console)
    if report.repeats:
        print_repeats(report.repeats, console)
    if report.people:
        print_people(report.people, console)
    print_failures(report.failures, console)
    section(console, "Notes", [scale_note(table), interval_note(table), *about_trends, *notes(report)])
    print_lines(console, [""])
    scores = {name: column.signature for name, column in table.columns.items()}
    print_signatures(console, {**scores, **report.signatures})


def _print_conclusions(report: Report, console: Console) -> None:
    for sentence in conclusions(report):
        print_lines(console, [*wrap(escape_unprintable(sentence), console.width), ""])


def print_failures(failures: Sequence[FailureReason], console: Console) -> None:
    """Each of *failures* in full, if there is any."""
    if failures:
        section(console, "Failures", failure_lines(failures), break_words=False)
        print_lines(console, [""])


def _tables(report: Report, console: Console) -> list[str]:
    table = report.table
    layout = fitting(console.width, lambda layout: [depth_columns(g, table, layout) for g in table.groups])
    for group in table.groups:
        heading(console, str(group.group))
        below = [*latency_lines(group.total), ""]
        print_table(console, depth_columns(group, table, layout), total=True, below=below)
    return []


def _tables_for_people(report: Report, console: Console) -> list[str]:
    """With sparklines; returns what is to be said of them."""
    known = scales(report.table)
    folded: dict[str, None] = {}
    for group in report.table.groups:
        heading(console, str(group.group))
        folded |= dict.fromkeys(print_group(group, report.table, console, known))
        print_lines(console, [*latency_lines(group.total), ""])
    return trend_note(list(folded)) if report.table.columns else []
