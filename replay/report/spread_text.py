"""The spread between runs of one scenario, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from replay.report.columns import Layout, TextColumn, Value, column, depth_column, fitting, score_cells
from replay.report.printing import heading, print_lines, print_table, section
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
    each = [f"run {number}" for number in range(1, len(names) + 1)]
    for group in dict.fromkeys(row.group for row in rows):
        print_lines(console, [""])
        heading(console, str(group))
        of_group = [row for row in rows if row.group == group]
        layout = fitting(
            console.width,
            lambda layout, of_group=of_group: [spread_columns(of_group, each, layout)],  # type: ignore[misc]
        )
        print_table(console, spread_columns(of_group, each, layout), below=())
    print_lines(console, [""])
    said = [
        f"{one.group}: {one.same} of {one.turns} turns ({100 * one.same / one.turns:.1f} %) were answered "
        "alike in every run."
        for one in same
        if one.turns
    ]
    legend = "sd: standard deviation between the runs (n - 1)."
    listed = [f"run {number}: {name}" for number, name in enumerate(names, 1)]
    section(console, "Notes", [*said, *notes, legend, *listed], break_words=False)


def spread_columns(rows: Sequence[SpreadRow], each: Sequence[str], layout: Layout) -> list[TextColumn]:
    """Mean, standard deviation, then *each* value under its head, or without heads the least and the most."""

    def values(head: str, found: Sequence[float | None]) -> TextColumn:
        cells = [
            score_cells([Value(value)], percent=row.percent, whole=layout.whole)[0]
            for row, value in zip(rows, found, strict=True)
        ]
        return column(head, cells)

    deep = any(row.depth is not None for row in rows)
    return [
        column("score", (row.score for row in rows), left=True),
        *([depth_column(row.depth for row in rows)] if deep else []),
        values("mean", [row.mean for row in rows]),
        values("sd", [row.deviation for row in rows]),
        *(values(head, [row.values[n] for row in rows]) for n, head in enumerate(each)),
        *([] if each else [values("least", [row.least for row in rows])]),
        *([] if each else [values("most", [row.most for row in rows])]),
    ]
