"""What the repeats of a run say, as columns of cells for a terminal and for Markdown alike."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from replay.report.columns import LAYOUTS, Layout, TextColumn, column, fitting, score_column
from replay.report.depth_cells import names_of
from replay.report.printing import heading, print_table
from replay.report.spread_text import spread_columns
from replay.scorers.scorer import SHARE
from replay.statistics.estimate import Estimate
from replay.statistics.group import Group
from replay.statistics.pass_curves import PassCurve
from replay.statistics.repeats import RepeatNumbers
from replay.statistics.run_spread import SpreadRow

MANY_ROWS = 24
"""A table with more rows shows no single depths."""
SHOWN_REPEATS = 5
"""Of more than that, the spread shows the least and the most alone."""


def displayed_ks(times: int) -> list[int]:
    """Each k up to 5; of more, those that double, and the last."""
    return [k for k in range(1, times + 1) if times <= 5 or k & (k - 1) == 0 or k == times]


def pass_columns(repeats: RepeatNumbers, group: Group, layout: Layout) -> list[TextColumn]:
    """pass^k by score and depth, and pass@k of all repeats; empty where no score is 0 or 1."""
    rows = [curve for curve in repeats.curves if curve.group == group]
    if len(rows) > MANY_ROWS:
        rows = [curve for curve in rows if curve.depth is None]
    if not rows:
        return []
    last = repeats.times
    return [
        column("score", (f"{curve.score}, {curve.label}" for curve in rows), left=True),
        column("cases", (str(curve.cases) for curve in rows)),
        *(
            _pass(f"pass^{k}", [curve.passes_all[k - 1] for curve in rows], layout)
            for k in displayed_ks(last)
        ),
        _pass(f"pass@{last}", [curve.passes_any[last - 1] for curve in rows], layout),
        *_incomplete(rows),
    ]


def _pass(head: str, found: Sequence[Estimate], layout: Layout) -> TextColumn:
    return score_column(head, SHARE, found, layout)


def _incomplete(rows: Sequence[PassCurve]) -> list[TextColumn]:
    if not any(curve.incomplete for curve in rows):
        return []
    return [column("incomplete", (str(curve.incomplete) for curve in rows))]


def repeat_spread_columns(repeats: RepeatNumbers, group: Group, layout: Layout) -> list[TextColumn]:
    """Each score in each repeat, with the standard deviation between them."""
    rows: Sequence[SpreadRow] = [row for row in repeats.spread if row.group == group]
    if len(rows) > MANY_ROWS:
        rows = [row for row in rows if row.depth is None]
    if not rows:
        return []
    each = [f"play {n}" for n in range(1, repeats.times + 1)] if repeats.times <= SHOWN_REPEATS else []
    return spread_columns(rows, each, layout)


def repeat_notes(repeats: RepeatNumbers) -> list[str]:
    """How the tables are to be read."""
    said = [
        f"each conversation was played {repeats.times} times. pass^k: all of k plays of a turn pass, or of a "
        "whole conversation, which passes where all its turns do; pass@k: at least one of them. Both in per "
        "cent, by the unbiased estimates.",
        "intervals speak of other conversations; sd, the standard deviation between plays (n - 1), of other "
        "answers to the same ones.",
    ]
    missing = max((curve.incomplete for curve in repeats.curves), default=0)
    if missing:
        said.append(
            "incomplete: cases with a play that has no score, as where an ask failed; such a play counts "
            "neither as passed nor as missed, and a case counts up to the k that it has plays for."
        )
    for one in repeats.same:
        share = f"{100 * one.same / one.turns:.1f} %"
        said.append(
            f"{one.group}: {one.same:,} of {one.turns:,} turns ({share}) were answered alike in every play."
        )
    if repeats.seeds:
        said.append(f"seeds sent: {names_of(repeats.seeds).replace('/', ', ')}.")
    return said


def print_repeats(repeats: RepeatNumbers, console: Console) -> None:
    """Tables of pass^k and of the spread, for each system and policy."""
    for group in dict.fromkeys(row.group for row in repeats.spread):
        for title, columns in (("pass^k", pass_columns), ("spread between plays", repeat_spread_columns)):
            by_layout = {layout: columns(repeats, group, layout) for layout in LAYOUTS}
            if all(by_layout.values()):
                heading(console, f"{group}: {title}")
                print_table(console, by_layout[fitting(console.width, lambda one, of=by_layout: [of[one]])])  # type: ignore[misc]
