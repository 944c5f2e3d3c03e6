"""*By depth*: what servers say that they took, as parts of our latency."""

from __future__ import annotations

from collections.abc import Sequence

from replay.report.charts import (
    Chart,
    ChartRow,
    Trace,
    Variant,
    count_cell,
    depth_row,
    group_label,
    hover,
    layout,
    meta,
    plain,
    tick_step,
    value_cell,
)
from replay.report.numbers import duration, number
from replay.scorers.scorer import SHARE
from replay.statistics.server_times import GroupServerTimes, ServerTimesRow

_COLORS = {
    "queue": "--c5",
    "prefill": "--c2",
    "decode": "--c3",
    "other server time": "--c4",
    "network and client": "--c1/0.3",
}


def server_times_chart(found: Sequence[GroupServerTimes]) -> Chart:
    """Return a chart with a bar for each depth, which the parts make up."""
    groups = [one.group for one in found]
    traces: list[Trace] = []
    rows: list[ChartRow] = []
    shown: set[str] = set()
    for one in found:
        depths = [row for row in one.rows if row.depth is not None]
        axis = [row.depth for row in depths]
        label = plain(group_label(one.group, groups))
        for rank, (part, color) in enumerate(_COLORS.items()):
            values = [_parts_s(row)[part] for row in depths]
            if not any(values):
                continue
            traces.append(
                {
                    "type": "bar",
                    "name": part,
                    "x": axis if len(found) == 1 else [[label] * len(axis), axis],
                    "y": [None if value is None else 1000 * value for value in values],
                    "marker": {"color": color},
                    "text": list(map(duration, values)),
                    "textposition": "none",
                    "hovertemplate": hover(f"{label}, {part}"),
                    "legendgroup": part,
                    "legendrank": rank,
                    "showlegend": part not in shown,
                    "meta": meta(one.group),
                }
            )
            shown.add(part)
        rows += [
            depth_row(
                one.group,
                row.depth,
                count_cell(row.turns),
                *(
                    value_cell(value, duration)
                    for value in (
                        *(row.latency_s, row.ttft_s, row.queue_s, row.prefill_s, row.decode_s, row.server_s),
                    )
                ),
                value_cell(row.share, lambda share: number(share, SHARE)),
                count_cell(row.dropped),
            )
            for row in one.rows
        ]
    frame = layout(
        x="turn depth", y="mean latency", unit="ms", height=340 if len(found) == 1 else 420, from_zero=True
    )
    frame["barmode"] = "stack"
    if len(found) == 1:
        frame["xaxis"]["dtick"] = tick_step(len(found[0].rows))
    return Chart(
        id="server-times",
        title="What the server took, by its own account",
        note="Means over answers whose server said what it took. What it didn't account for is network and "
        "client, and tools where some were called.",
        variants={
            "": Variant(
                traces=traces,
                layout=frame,
                heads=(
                    *("System", "Policy", "Depth", "Turns", "Latency (s)", "First token (s)", "Queue (s)"),
                    *("Prefill (s)", "Decode (s)", "Server (s)", "Server %", "Left out"),
                ),
                rows=rows,
            )
        },
        summary="Mean latency by turn depth, divided into what the server says it took and the rest.",
    )


def _parts_s(row: ServerTimesRow) -> dict[str, float | None]:
    """Return the parts of the mean latency, by name."""
    server_s, known_s = row.server_s or 0.0, sum(filter(None, (row.queue_s, row.prefill_s, row.decode_s)))
    return {
        "queue": row.queue_s,
        "prefill": row.prefill_s,
        "decode": row.decode_s,
        # Rounded: what two sums differ by is no time.
        "other server time": max(0.0, round(server_s - known_s, 6)),
        "network and client": None if row.latency_s is None else max(0.0, row.latency_s - server_s),
    }
