"""*By depth*: how far the recorded script carries."""

from __future__ import annotations

from collections.abc import Sequence

from replay.report.charts import (
    Chart,
    ChartRow,
    Trace,
    Variant,
    count_cell,
    curve_with_band,
    depth_row,
    layout,
    score_cells,
    styles,
    tick_step,
)
from replay.report.numbers import number
from replay.report.script_tables import SURVIVAL_NOTE, SURVIVAL_TITLE
from replay.scorers.scorer import SHARE
from replay.statistics.script_survival import ScriptSurvival


def survival_chart(found: Sequence[ScriptSurvival]) -> Chart:
    """Return a chart with a curve for each system and policy."""
    groups = [one.group for one in found]
    looks = styles(groups)
    traces: list[Trace] = []
    rows: list[ChartRow] = []
    for one in found:
        depths = [row.depth for row in one.rows]
        texts = [f"{number(row.value, SHARE)}, {row.at_risk:,} at risk" for row in one.rows]
        traces += curve_with_band(one.group, groups, looks[one.group], depths, one.rows, SHARE, texts)
        rows += [
            depth_row(
                one.group,
                row.depth,
                *map(count_cell, (row.at_risk, row.broken)),
                *score_cells(row, SHARE),
            )
            for row in one.rows
        ]
    frame = layout(x="turn depth", y="conversations", unit=SHARE, height=340, from_zero=True)
    frame["xaxis"]["dtick"] = tick_step(max(len(one.rows) for one in found))
    return Chart(
        id="script-survival",
        title=SURVIVAL_TITLE,
        note=f"{SURVIVAL_NOTE[0].upper()}{SURVIVAL_NOTE[1:]}",
        variants={
            "": Variant(
                traces=traces,
                layout=frame,
                heads=("System", "Policy", "Depth", "At risk", "Broken", "Share", "Low", "High"),
                rows=rows,
            )
        },
        summary="Share of conversations whose recorded questions still fit, by turn depth.",
    )
