"""The means of an evaluation file, or of judges' numbers, on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from rich.console import Console

from replay.report.columns import NONE, column, score_cells
from replay.report.printing import print_signatures, print_table, section
from replay.scorers.scorer import Unscored
from replay.statistics.interval import METHOD_NAMES
from replay.tables.scoring.evaluation_file import Evaluation
from replay.tables.scoring.judged_file import PanelVerdicts


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """Print means with intervals, then what is missing and why."""
    means = evaluation.means
    columns = [
        column("column", (one.name for one in means), left=True),
        column("rows", (str(one.scored) for one in means)),
        column("mean", score_cells(means, percent=False, whole=False), left=True),
    ]
    if means:
        print_table(console, columns)
    section(console, "Notes", _notes(evaluation), break_words=False)
    print_signatures(console, {one.name: one.signature for one in means})


def print_judged(judged: Sequence[PanelVerdicts], console: Console) -> None:
    """
    Print the means of the judges' columns, what is missing and why, and what it took to ask.

    Without intervals: what the items share, a dialogue or a context, is known to who rated them.
    """
    names, counts, means, said = [], [], [], []
    for found in judged:
        for name, output in found.panel.columns.items():
            values = [verdict.values[output.name] for verdict in found.verdicts.values()]
            known = [value for value in values if not isinstance(value, Unscored)]
            reasons = Counter(value.reason for value in values if isinstance(value, Unscored))
            names.append(name)
            counts.append(str(len(known)))
            means.append(f"{fmean(known):.4g}" if known else NONE)
            said += [f"{name}: {count:,} items unscored ({reason})." for reason, count in reasons.items()]
        said += [f"judge {found.panel.name}: {sentence}" for sentence in found.tally.sentences()]
    columns = [column("column", names, left=True), column("items", counts), column("mean", means)]
    print_table(console, columns)
    section(console, "Notes", said, break_words=False)
    print_signatures(console, {found.panel.name: found.panel.signature for found in judged})


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
