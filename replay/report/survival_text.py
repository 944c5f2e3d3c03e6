"""How far the recorded script carries, as a table for a terminal and for Markdown alike."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from replay.report.columns import LAYOUTS, Layout, TextColumn, depth_column, fitting, score_column
from replay.report.printing import heading, print_table
from replay.scorers.scorer import SHARE
from replay.statistics.script_survival import ScriptSurvival, SurvivalRow

TITLE = "Script survival"
NOTE = (
    "script survival: the share of conversations of which every recorded question up to a depth still "
    "means the same after the system's own answers (Kaplan-Meier; intervals are Wilson's, with "
    "Greenwood's variance). What ends early, by a failed ask or a question without a verdict, leaves the "
    "count there."
)


def survival_columns(found: Sequence[ScriptSurvival], layout: Layout = LAYOUTS[0]) -> list[TextColumn]:
    """A row for each depth, a column for each system and those of its policies that say the same."""
    depths = range(1, 1 + max(len(one.rows) for one in found))
    one_system = len({one.group.system for one in found}) == 1
    # Up to the first break all policies with the system's own answers ask the same, so most say the same.
    alike: dict[tuple[str, tuple[SurvivalRow, ...]], list[str]] = {}
    for one in found:
        alike.setdefault((one.group.system, one.rows), []).append(one.group.policy)
    return [
        depth_column(depths),
        *(
            score_column(
                f"{'' if one_system else f'{system}, '}{'/'.join(policies)}",
                SHARE,
                [rows[depth - 1] if depth <= len(rows) else None for depth in depths],
                layout,
            )
            for (system, rows), policies in alike.items()
        ),
    ]


def print_survival(found: Sequence[ScriptSurvival], console: Console) -> None:
    """The table under its heading, as compactly as the console's width asks for."""
    heading(console, TITLE)
    layout = fitting(console.width, lambda layout: [survival_columns(found, layout)])
    print_table(console, survival_columns(found, layout))
