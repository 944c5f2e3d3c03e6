"""What a notebook shows of a run and of a comparison, and the same as text where it shows no HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from replay.statistics.comparison_gate import ComparisonGate
    from replay.statistics.failure_reasons import FailureReason
    from replay.statistics.load.load_summary import LoadSummary
    from replay.statistics.run_comparison import ComparisonReport
    from replay.statistics.run_numbers import Report

TEXT_WIDTH = 110
"""Columns of a text; a notebook's cell takes about as many."""

MimeBundle = dict[str, str]


def print_to_text(put: Callable[[Console], None]) -> str:
    """What *put* prints to a console, as plain text."""
    from replay.report.printing import VisibleConsole

    stream = StringIO()
    console = VisibleConsole(stream, plain=True)
    console.width = TEXT_WIDTH
    put(console)
    return stream.getvalue().rstrip("\n")


def load_bundle(
    load: LoadSummary, failures: Sequence[FailureReason], *, name: str, folder: str
) -> MimeBundle:
    """Return the numbers of a run under load, those of ``replay report``."""
    from replay.report.load_text import print_load
    from replay.report.notebook.html_parts import display, heading, text

    printed_load = print_to_text(lambda console: print_load(load, console, failures=failures))
    html = display([heading(f"{name} ({folder})"), f"<pre>{text(printed_load)}</pre>"])
    return {"text/plain": printed_load, "text/html": html}


def report_bundle(report: Report, *, name: str, folder: str) -> MimeBundle:
    """Return the numbers of any other run, those of ``replay report``."""
    from replay.report.notebook.run_display import run_html
    from replay.report.text import print_report

    plain = print_to_text(lambda console: print_report(report, console))
    return {"text/plain": plain, "text/html": run_html(report, name=name, folder=folder)}


def comparison_text(report: ComparisonReport, gate: ComparisonGate | None) -> str:
    """Return *report* and its *gate* as ``replay compare`` prints them."""
    from replay.report.compare_text import print_comparison
    from replay.report.gate_text import gate_lines

    numbers = print_to_text(lambda console: print_comparison(report, console))
    return "\n".join([numbers, *(["", *gate_lines(gate)] if gate else [])])


def comparison_bundle(report: ComparisonReport, gate: ComparisonGate | None) -> MimeBundle:
    """Return the numbers of a comparison."""
    from replay.report.gate_text import gate_lines
    from replay.report.notebook.comparison_display import comparison_html

    html = comparison_html(report, gate=gate_lines(gate) if gate else [])
    return {"text/plain": comparison_text(report, gate), "text/html": html}
