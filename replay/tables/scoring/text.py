"""
The means of an evaluation file on a terminal.
"""

from __future__ import annotations

from rich.console import Console

from replay.report.columns import TextColumn, score_cells, table_lines
from replay.report.compare_text import heading, put_lines, section
from replay.tables.scoring.evaluation_file import Evaluation


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print means with intervals, then what is missing and why."""
    means = evaluation.means
    cells = score_cells([(one.value, one.low, one.high) for one in means], percent=False, whole=False)
    columns = [
        TextColumn(head="column", cells=tuple(one.name for one in means), left=True),
        TextColumn(head="rows", cells=tuple(str(one.scored) for one in means)),
        TextColumn(head="mean", cells=cells, left=True),
    ]
    if means:
        put_lines(console, [*table_lines(columns, width=console.width, total=False), ""])
    section(console, "Notes", _notes(evaluation))
    heading(console, "Signatures")
    width = max((len(one.name) for one in means), default=0)
    put_lines(console, [f"{one.name.ljust(width)}  {one.signature}" for one in means])


def _notes(evaluation: Evaluation) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for name, reason in evaluation.left_out.items():
        reasons.setdefault(reason, []).append(name)
    unscored = [
        f"{one.name}: {count} rows unscored ({reason})."
        for one in evaluation.means
        for reason, count in one.unscored.items()
    ]
    left_out = [f"left out: {', '.join(names)} ({reason})." for reason, names in reasons.items()]
    brackets = "in brackets: 95 % interval, percentile bootstrap over rows."
    return [*evaluation.notes, *unscored, *left_out, *([brackets] if evaluation.means else [])]
