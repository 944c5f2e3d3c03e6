"""Who offered a load, how late and how busy each was: a chart of *Load*."""

from __future__ import annotations

from collections.abc import Sequence

from replay.statistics.load.generators import GeneratorStats
from replay.statistics.load.load_level import LevelSummary
from replay.viewer import charts
from replay.viewer.charts import Cell, Chart, ChartRow, Variant, count_cell, layout, text_cell, value_cell
from replay.viewer.numbers import duration

_HEADS = (
    "Level",
    "Generator",
    "Host",
    "Conversations",
    "Busy",
    "Late p50 (s)",
    "Late p99 (s)",
    "Late max (s)",
    "Lag p99 (s)",
    "Clock ahead (s)",
    "+- (s)",
    "Moved (s)",
)
_COLORS = ("--c2", "--c3", "--c5", "--c1", "--c4")


def generator_charts(levels: Sequence[LevelSummary], names: Sequence[str]) -> list[Chart]:
    """A bar for each generator at each of *levels*, which are called *names*; none where nobody is known."""
    known = [(name, level.played.generators) for name, level in zip(names, levels, strict=True)]
    if not any(generators for _, generators in known):
        return []
    traces = [
        {
            "type": "bar",
            "name": charts.plain(name),
            "x": [charts.plain(_label(one)) for one in generators],
            "y": [one.lateness.p99_s if one.lateness else None for one in generators],
            "marker": {"color": _COLORS[at % len(_COLORS)]},
            "hovertemplate": "%{x}: %{y:.3g} s<extra></extra>",
        }
        for at, (name, generators) in enumerate(known)
    ]
    frame = layout(
        x="generator", y="late p99", unit="s", whole_x=False, height=300, short=True, from_zero=True
    )
    frame["xaxis"]["type"] = "category"
    rows = [ChartRow(cells=_cells(name, one)) for name, generators in known for one in generators]
    note = (
        "How long after they could be sent each sent its asks: a late one understates what users would see."
    )
    variant = Variant(traces=traces, layout=frame, heads=_HEADS, rows=rows)
    title = "Who offered the load"
    return [
        Chart(
            id="load-generators", title=title, note=note, variants={"": variant}, summary=f"{title}. {note}"
        )
    ]


def _label(one: GeneratorStats) -> str:
    return f"{one.number + 1} ({one.host})"


def _cells(level: str, one: GeneratorStats) -> tuple[Cell, ...]:
    late = one.lateness
    return (
        text_cell(level),
        count_cell(one.number + 1),
        text_cell(one.host),
        count_cell(one.conversations),
        value_cell(one.busy, "{:.0%}".format),
        *(value_cell(getattr(late, f"{name}_s", None), duration) for name in ("p50", "p99", "max")),
        value_cell(one.lag.p99_s if one.lag else None, duration),
        value_cell(one.clock.offset_s if one.clock else None, "{:.6f}".format),
        value_cell(one.clock.uncertainty_s if one.clock else None, duration),
        value_cell(one.clock_moved_s, "{:.6f}".format),
    )
