"""
The spread between repeats of a run, on a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from replay.report.columns import Layout, TextColumn, fitting, score_cells, table_lines
from replay.report.compare_text import heading, put_lines, section
from replay.statistics.run_spread import SameAnswers, SpreadRow


def print_spread(
    names: Sequence[str],
    rows: Sequence[SpreadRow],
    same: Sequence[SameAnswers],
    notes: Sequence[str],
    console: Console,
) -> None:
    """Print how far the runs called *names* lie apart."""
    heading(console, f"Spread between {len(names)} runs")
    groups = dict.fromkeys(row.group for row in rows)
    for group in groups:
        heading(console, f"\n{group}")
        of_group = [row for row in rows if row.group == group]

        def put(layout: Layout, of_group: Sequence[SpreadRow] = of_group) -> list[list[TextColumn]]:
            return [_spread_columns(of_group, len(names), layout)]

        columns = put(fitting(console.width, put))[0]
        put_lines(console, table_lines(columns, width=console.width, total=False))
    put_lines(console, [""])
    said = [
        f"{one.group}: {one.same} of {one.turns} turns ({100 * one.same / one.turns:.1f} %) were answered "
        "alike in every run."
        for one in same
        if one.turns
    ]
    legend = "sd: standard deviation between the runs (n - 1)."
    listed = [f"run {number}: {name}" for number, name in enumerate(names, 1)]
    section(console, "Notes", [*said, *notes, legend, *listed])


def _spread_columns(rows: Sequence[SpreadRow], runs: int, layout: Layout) -> list[TextColumn]:
    def cells(values: Sequence[float | None]) -> tuple[str, ...]:
        return tuple(
            score_cells([(value, None, None)], percent=row.percent, whole=layout.whole)[0]
            for row, value in zip(rows, values, strict=True)
        )

    columns = [TextColumn(head="score", cells=tuple(row.score for row in rows), left=True)]
    if any(row.depth is not None for row in rows):
        depths = tuple("all" if row.depth is None else str(row.depth) for row in rows)
        columns.append(TextColumn(head="depth", cells=depths))
    columns += [
        TextColumn(head="mean", cells=cells([row.mean for row in rows])),
        TextColumn(head="sd", cells=cells([row.deviation for row in rows])),
    ]
    for number in range(runs):
        of_run = cells([row.values[number] for row in rows])
        columns.append(TextColumn(head=f"run {number + 1}", cells=of_run))
    return columns
