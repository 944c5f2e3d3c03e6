"""What a notebook shows of a run and of a comparison, and the same as text where it shows no HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

    from replay.report.document import ReportDocument
    from replay.statistics.comparison_gate import ComparisonGate
    from replay.statistics.load.load_summary import LoadSummary
    from replay.statistics.run_comparison import ComparisonReport
    from replay.statistics.run_numbers import FailureReason, Report

TEXT_WIDTH = 110
"""Columns of a text; a notebook's cell takes about as many."""


class NotebookView(NamedTuple):
    """A text, and the document that is shown in its place where there is HTML."""

    text: str
    document: ReportDocument
    all_at: str
    """The call that gives what the HTML has no room for."""

    @property
    def bundle(self) -> dict[str, str]:
        """Both, by media type."""
        from replay.report.notebook import document_html

        return {"text/plain": self.text, "text/html": document_html(self.document, all_at=self.all_at)}

    def show(self) -> None:
        """Show both in the notebook that runs this, then the figures."""
        from replay.report.notebook import show

        show(self.bundle, self.document)


def print_to_text(put: Callable[[Console], None]) -> str:
    """Return what *put* prints to a console, as plain text."""
    from replay.report.printing import VisibleConsole

    stream = StringIO()
    console = VisibleConsole(stream, plain=True)
    console.width = TEXT_WIDTH
    put(console)
    return stream.getvalue().rstrip("\n")


def run_view(title: str, numbers: Report | LoadSummary, failures: Sequence[FailureReason]) -> NotebookView:
    """Return the *numbers* of a run, those of ``replay report``; the *failures* of a load run beside them."""
    from replay.report.load_document import load_document
    from replay.report.run_document import run_document
    from replay.report.text import print_document
    from replay.statistics.load.load_summary import LoadSummary

    if isinstance(numbers, LoadSummary):
        document = load_document(numbers, failures=failures)
    else:
        document = run_document(numbers, title=title)
    text = print_to_text(lambda console: print_document(document, console))
    return NotebookView(text, replace(document, title=title), "run.depth_table()")


def comparison_text(report: ComparisonReport, gate: ComparisonGate | None) -> str:
    """Return *report* and its *gate* as ``replay compare`` prints them."""
    from replay.report.findings import gate_lines
    from replay.report.text import print_comparison

    numbers = print_to_text(lambda console: print_comparison(report, console))
    return "\n".join([numbers, *(["", *gate_lines(gate)] if gate else [])])


def comparison_view(report: ComparisonReport, gate: ComparisonGate | None) -> NotebookView:
    """Return the numbers of a comparison."""
    from replay.report.compare_document import comparison_document
    from replay.report.findings import gate_lines

    document = comparison_document(report, gate=gate_lines(gate) if gate else [])
    return NotebookView(comparison_text(report, gate), document, "comparison.to_frame()")
