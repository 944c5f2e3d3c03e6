"""The means of an evaluation file on a terminal."""

from __future__ import annotations

from rich.console import Console

from replay.report.columns import column, score_cells
from replay.report.printing import put_signatures, put_table, section
from replay.statistics.interval import METHOD_NAMES
from replay.tables.scoring.evaluation_file import Evaluation


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print means with intervals, then what is missing and why."""
    means = evaluation.means
    columns = [
        column("column", (one.name for one in means), left=True),
        column("rows", (str(one.scored) for one in means)),
        column("mean", score_cells(means, percent=False, whole=False), left=True),
    ]
    if means:
        put_table(console, columns)
    section(console, "Notes", _notes(evaluation), break_words=False)
    put_signatures(console, {one.name: one.signature for one in means})


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
    brackets = f"in brackets: 95 % interval, {METHOD_NAMES['t']} over rows."
    return [*evaluation.notes, *unscored, *left_out, *([brackets] if evaluation.means else [])]
