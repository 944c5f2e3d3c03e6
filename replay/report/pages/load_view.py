"""
*Load*: what a stress run did over time and at each level, what it cost in quality, and what went wrong.

Takes plain values, so that a page needs to know nothing of how they were measured::

    {"levels": [{"name": "8/s", "offered": 8.0, "throughput": 7.9,
                 "latency": {"p50": 0.1, "p90": ..., "p95": ..., "p99": ..., "max": ...},
                 "ttft": {...} or null, "errors": 3, "asked": 480, "goodput": 7.2 or null,
                 "quality": {"f1": {"value": 0.5, "low": 0.4, "high": 0.6, "unit": "share"}}}],
     "series": [{"at_s": 0.0, "offered": 8.0, "throughput": 7.5, "in_flight": 2.0,
                 "p50": 0.1, "p95": 0.2, "p99": 0.3, "errors": 0}],
     "by_depth": [{"depth": 1, "p50": 0.1, "p95": 0.2, "p99": 0.3, "turns": 100}],
     "errors": {"timed-out": 3}}

Times are seconds, rates per second; any value but ``name`` and ``at_s`` may be missing or None, and any
of the lists may be empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from replay.report.pages import figures
from replay.report.pages.charts import Cell, Chart, Row, Table, Variant, count_cell, text_cell
from replay.report.pages.figures import Trace, layout, scaled
from replay.report.pages.numbers import duration, number, unit_name
from replay.runs.run import Run
from replay.scorers.scorer import SHARE

Load = Mapping[str, Any]
LoadOf = Callable[[Run], Load | None]
"""Gives a run's load summary; None where it was no stress run."""
PERCENTILES = ("p50", "p90", "p95", "p99", "max")
_LOOKS = (
    ("--c2", "solid", "circle"),
    ("--c3", "dash", "square"),
    ("--c5", "dashdot", "diamond"),
    ("--c1", "dot", "triangle-up"),
    ("--c4", "longdash", "x"),
)


def load_charts(load: Load | None) -> list[Chart]:
    """The charts of a stress run; empty where there was none."""
    if not load:
        return []
    found: list[Chart | None] = [
        _series_rates(load.get("series") or []),
        _series_latency(load.get("series") or []),
        _percentiles(load.get("levels") or [], "latency", "Latency"),
        _percentiles(load.get("levels") or [], "ttft", "Time to first token"),
        _rates(load.get("levels") or []),
        _quality(load.get("levels") or []),
        _by_depth(load.get("by_depth") or []),
        _errors(load.get("errors") or {}),
    ]
    return [chart for chart in found if chart is not None]


def _curve(
    look: int, name: str, x: Sequence[Any], y: Sequence[Any], texts: Sequence[str], **more: Any
) -> Trace:
    color, dash, marker = _LOOKS[look % len(_LOOKS)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": figures.plain(name),
        "x": list(x),
        "y": list(y),
        "text": list(texts),
        "hovertemplate": f"{figures.plain(name)}: %{{text}}<extra></extra>",
        "line": {"color": color, "dash": dash, "width": 2},
        "marker": {"color": color, "symbol": marker, "size": 6},
        **more,
    }


def _chart(
    id: str, title: str, note: str, data: list[Trace], frame: Mapping[str, Any], table: Table
) -> Chart:
    figure = {"data": data, "layout": dict(frame)}
    return Chart(
        id=id,
        title=title,
        note=note,
        variants={"": Variant(figure=figure, table=table)},
        summary=f"{title}. {note}",
    )


def _number_cell(value: Any, shown: Callable[[Any], str]) -> Cell:
    return Cell(shown="–" if value is None else shown(value), exact=value)


def _rate(value: float) -> str:
    return f"{value:,.3g}/s"


def _series_rates(series: Sequence[Mapping[str, Any]]) -> Chart | None:
    if not series:
        return None
    at = [one["at_s"] for one in series]
    names = (("offered", "sent"), ("throughput", "answered"), ("errors", "errors"))
    data = []
    for look, (key, name) in enumerate(names):
        values = [one.get(key) for one in series]
        if any(value is not None for value in values):
            data.append(_curve(look, name, at, values, [f"{value}" for value in values]))
    heads = ("At (s)", "Sent (1/s)", "Answered (1/s)", "Open conversations", "Errors (1/s)")
    rows = tuple(
        Row(
            cells=(
                Cell(shown=f"{one['at_s']:g}", exact=one["at_s"]),
                *(
                    _number_cell(one.get(key), lambda v: f"{v:.3g}")
                    for key in ("offered", "throughput", "in_flight")
                ),
                _number_cell(one.get("errors"), lambda v: f"{v:g}"),
            )
        )
        for one in series
    )
    frame = layout(x="seconds since the start", y="per second", whole_x=False, height=340)
    note = "Where answered stays below sent, the system could not keep up."
    return _chart(
        "load-rates", "Sent and answered over time", note, data, frame, Table(heads=heads, rows=rows)
    )


def _series_latency(series: Sequence[Mapping[str, Any]]) -> Chart | None:
    keys = [key for key in ("p50", "p95", "p99") if any(one.get(key) is not None for one in series)]
    if not keys:
        return None
    at = [one["at_s"] for one in series]
    data = [
        _curve(look, key, at, [one.get(key) for one in series], [duration(one.get(key)) for one in series])
        for look, key in enumerate(keys)
    ]
    rows = tuple(
        Row(
            cells=(
                Cell(shown=f"{one['at_s']:g}", exact=one["at_s"]),
                *(_number_cell(one.get(key), duration) for key in keys),
            )
        )
        for one in series
    )
    frame = layout(x="seconds since the start", y="latency", unit="s", whole_x=False, height=340, short=True)
    frame["yaxis"]["rangemode"] = "tozero"
    note = "Percentiles of the answers that came in each slice of time."
    table = Table(heads=("At (s)", *(f"{key} (s)" for key in keys)), rows=rows)
    return _chart("load-latency", "Latency over time", note, data, frame, table)


def _level_names(levels: Sequence[Mapping[str, Any]]) -> list[str]:
    return [figures.plain(str(level["name"])) for level in levels]


def _percentiles(levels: Sequence[Mapping[str, Any]], key: str, title: str) -> Chart | None:
    known = [p for p in PERCENTILES if any((level.get(key) or {}).get(p) is not None for level in levels)]
    if not known:
        return None
    data = []
    for look, p in enumerate(known):
        values = [(level.get(key) or {}).get(p) for level in levels]
        data.append(_curve(look, p, _level_names(levels), values, [duration(value) for value in values]))
    rows = tuple(
        Row(
            cells=(
                text_cell(str(level["name"])),
                *(_number_cell((level.get(key) or {}).get(p), duration) for p in known),
            )
        )
        for level in levels
    )
    frame = layout(x="level", y=title.lower(), unit="s", whole_x=False, height=380, short=True)
    frame["xaxis"]["type"] = "category"
    frame["yaxis"]["type"] = "log"
    table = Table(heads=("Level", *(f"{p} (s)" for p in known)), rows=rows)
    return _chart(f"load-{key}-levels", f"{title} by level", "The scale is logarithmic.", data, frame, table)


def _rates(levels: Sequence[Mapping[str, Any]]) -> Chart | None:
    keys = [
        k for k in ("offered", "throughput", "goodput") if any(level.get(k) is not None for level in levels)
    ]
    if not keys:
        return None
    data = []
    for look, key in enumerate(keys):
        values = [level.get(key) for level in levels]
        texts = ["–" if value is None else _rate(value) for value in values]
        data.append(_curve(look, key, _level_names(levels), values, texts))
    rows = tuple(
        Row(
            cells=(
                text_cell(str(level["name"])),
                *(_number_cell(level.get(key), _rate) for key in keys),
                count_cell(level.get("asked")),
                count_cell(level.get("errors")),
            )
        )
        for level in levels
    )
    frame = layout(x="level", y="per second", whole_x=False, height=340)
    frame["xaxis"]["type"] = "category"
    frame["yaxis"]["rangemode"] = "tozero"
    table = Table(
        heads=("Level", *(f"{key.capitalize()} (1/s)" for key in keys), "Asked", "Errors"), rows=rows
    )
    note = "Goodput counts answers that kept the run's objectives."
    return _chart("load-throughput", "Throughput by level", note, data, frame, table)


def _quality(levels: Sequence[Mapping[str, Any]]) -> Chart | None:
    """Latency against quality, one point for each level."""
    names = list(dict.fromkeys(name for level in levels for name in level.get("quality") or {}))
    variants = {}
    for name in names:
        points = [
            (level, level["quality"][name])
            for level in levels
            if name in (level.get("quality") or {}) and (level.get("latency") or {}).get("p50") is not None
        ]
        if not points:
            continue
        unit = points[0][1].get("unit", SHARE)
        x = [level["latency"]["p50"] for level, _ in points]
        y = [scaled(q.get("value"), unit) for _, q in points]
        ends = [[scaled(q.get(end), unit) for _, q in points] for end in ("low", "high")]
        trace = _curve(0, name, x, y, [figures.plain(str(level["name"])) for level, _ in points])
        trace["mode"] = "lines+markers+text"
        trace["textposition"] = "top center"
        value_text = [number(q.get("value"), unit) for _, q in points]
        trace["customdata"] = [f"{v}, {duration(at)}" for v, at in zip(value_text, x, strict=True)]
        trace["hovertemplate"] = "%{text}: %{customdata}<extra></extra>"
        if all(end is not None for side in ends for end in side):
            trace["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": [high - v for high, v in zip(ends[1], y, strict=True)],  # type: ignore[operator]
                "arrayminus": [v - low for low, v in zip(ends[0], y, strict=True)],  # type: ignore[operator]
                "color": "--c2",
            }
        rows = tuple(
            Row(
                cells=(
                    text_cell(str(level["name"])),
                    Cell(shown=duration(at), exact=at),
                    *(
                        Cell(shown=number(q.get(end), unit), exact=q.get(end))
                        for end in ("value", "low", "high")
                    ),
                )
            )
            for (level, q), at in zip(points, x, strict=True)
        )
        shown = unit_name(unit)
        frame = layout(
            x="median latency (s)", y=f"{name} ({shown})" if shown else name, unit=unit, whole_x=False
        )
        frame["hovermode"] = "closest"
        heads = ("Level", "Median latency (s)", name, "Low", "High")
        variants[name] = Variant(
            figure={"data": [trace], "layout": frame}, table=Table(heads=heads, rows=rows)
        )
    if not variants:
        return None
    note = "Each point is a level. Answers that get worse under load move down as they move right."
    return Chart(
        id="load-quality",
        title="Latency against quality",
        note=note,
        variants=variants,
        summary=f"Scatter. {note}",
    )


def _by_depth(rows_in: Sequence[Mapping[str, Any]]) -> Chart | None:
    keys = [key for key in ("p50", "p95", "p99") if any(one.get(key) is not None for one in rows_in)]
    if not keys:
        return None
    depths = [one["depth"] for one in rows_in]
    data = [
        _curve(
            look, key, depths, [one.get(key) for one in rows_in], [duration(one.get(key)) for one in rows_in]
        )
        for look, key in enumerate(keys)
    ]
    rows = tuple(
        Row(
            cells=(
                count_cell(one["depth"]),
                count_cell(one.get("turns")),
                *(_number_cell(one.get(key), duration) for key in keys),
            )
        )
        for one in rows_in
    )
    frame = layout(x="turn depth", y="latency", unit="s", height=340, short=True)
    frame["yaxis"]["rangemode"] = "tozero"
    table = Table(heads=("Depth", "Turns", *(f"{key} (s)" for key in keys)), rows=rows)
    note = "At the last level. Longer histories take longer to read."
    return _chart("load-depth", "Latency by depth under load", note, data, frame, table)


def _errors(errors: Mapping[str, int]) -> Chart | None:
    if not errors:
        return None
    kinds = sorted(errors.items(), key=lambda pair: (-pair[1], pair[0]))
    trace: Trace = {
        "type": "bar",
        "orientation": "h",
        "x": [count for _, count in kinds],
        "y": [figures.plain(kind) for kind, _ in kinds],
        "marker": {"color": "--c1"},
        "hovertemplate": "%{y}: %{x}<extra></extra>",
    }
    frame = layout(x="turns", y="", whole_x=False, height=120 + 36 * len(kinds))
    frame["yaxis"] = {"autorange": "reversed", "automargin": True, "type": "category"}
    frame["hovermode"] = "closest"
    rows = tuple(Row(cells=(text_cell(kind), count_cell(count))) for kind, count in kinds)
    note = "How asks ended that brought no answer."
    return _chart(
        "load-errors", "Errors by kind", note, [trace], frame, Table(heads=("Kind", "Turns"), rows=rows)
    )
