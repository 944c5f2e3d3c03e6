"""*Load*: what a stress run did over time and at each level, what it cost in quality, and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.load_record import GeneratorReport
from replay.report.charts import (
    Cell,
    Chart,
    ChartRow,
    Trace,
    Variant,
    count_cell,
    hover,
    layout,
    log_ticks,
    plain,
    score_cells,
    text_cell,
    to_percent,
    value_cell,
)
from replay.report.load_document import limit_sentences
from replay.report.numbers import duration, number, with_unit
from replay.statistics.estimate import Estimate
from replay.statistics.load.asks import TimeSeries
from replay.statistics.load.load_cell import Percentiles
from replay.statistics.load.load_level import LevelSummary
from replay.statistics.load.load_summary import LoadSummary

_LOOKS = (
    ("--c2", "solid", "circle"),
    ("--c3", "dash", "square"),
    ("--c5", "dashdot", "diamond"),
    ("--c1", "dot", "triangle-up"),
    ("--c4", "longdash", "x"),
)


def load_charts(load: LoadSummary | None) -> list[Chart]:
    """Return the charts of a stress run; empty where there was none."""
    if load is None:
        return []
    levels = load.levels
    return [
        *([_rates_over_time(load.series), *_latency_over_time(load.series)] if load.series else []),
        *_percentiles(levels, "latency", "Latency", lambda level: level.total.latency),
        *_percentiles(levels, "ttft", "Time to first token", lambda level: level.total.ttft),
        *_rates(levels, limit_sentences(load)),
        *_quality(levels, load.score_units),
        *_by_depth(levels),
        *_generators(levels),
        *_errors(levels),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of a chart's table, and its curve if it has one."""

    head: str
    cells: Sequence[Cell]
    curve: str = ""
    values: Sequence[float | None] = ()
    texts: Sequence[str] = ()


def _column(curve: str, head: str, values: Sequence[float | None], show: Callable[[Any], str]) -> _Column:
    cells = [value_cell(value, show) for value in values]
    return _Column(head=head, cells=cells, curve=curve, values=values, texts=[cell.shown for cell in cells])


def _chart(
    id: str, title: str, note: str, x: Sequence[Any], columns: Sequence[_Column], frame: dict[str, Any]
) -> Chart:
    """Return a curve over *x* for each of the *columns* that has one; all of them are in the table."""
    curves = [column for column in columns if column.curve]
    traces = [_curve(look, one.curve, x, one.values, one.texts) for look, one in enumerate(curves)]
    rows = [ChartRow(cells=cells) for cells in zip(*(column.cells for column in columns), strict=True)]
    return _one_chart(id, title, note, traces, frame, tuple(column.head for column in columns), rows)


def _curve(look: int, name: str, x: Sequence[Any], y: Sequence[Any], texts: Sequence[str]) -> Trace:
    color, dash, marker = _LOOKS[look % len(_LOOKS)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(name),
        "x": list(x),
        "y": list(y),
        "text": list(texts),
        "hovertemplate": hover(name),
        "line": {"color": color, "dash": dash, "width": 2},
        "marker": {"color": color, "symbol": marker, "size": 6},
    }


def _one_chart(
    id: str,
    title: str,
    note: str,
    traces: Sequence[Trace],
    frame: dict[str, Any],
    heads: tuple[str, ...],
    rows: Sequence[ChartRow],
) -> Chart:
    variant = Variant(traces=traces, layout=frame, heads=heads, rows=rows)
    return Chart(id=id, title=title, note=note, variants={"": variant}, summary=f"{title}. {note}")


def _moments(series: TimeSeries) -> _Column:
    return _Column(head="At (s)", cells=[value_cell(at, "{:g}".format) for at in series.start_s])


def _rates_over_time(series: TimeSeries) -> Chart:
    three = "{:.3g}".format

    def rate(curve: str, head: str, counts: Sequence[int], show: Callable[[Any], str] = three) -> _Column:
        values = [count / series.bucket_s for count in counts]
        cells = [value_cell(value, show) for value in values]
        return _Column(head=head, cells=cells, curve=curve, values=values, texts=list(map(str, values)))

    columns = [
        _moments(series),
        rate("sent", "Sent (1/s)", series.sent),
        rate("answered", "Answered (1/s)", series.done),
        _Column(
            head="Open conversations", cells=[value_cell(open, three) for open in series.open_conversations]
        ),
        rate("errors", "Errors (1/s)", series.errors, "{:g}".format),
    ]
    frame = layout(x="seconds since the start", y="per second", whole_x=False, height=340)
    note = "Where answered stays below sent, the system could not keep up."
    return _chart("load-rates", "Sent and answered over time", note, series.start_s, columns, frame)


def _latency_over_time(series: TimeSeries) -> list[Chart]:
    if not any(value is not None for value in series.latency_p50_s):
        return []
    columns = [
        _moments(series),
        _column("p50", "p50 (s)", series.latency_p50_s, duration),
        _column("p99", "p99 (s)", series.latency_p99_s, duration),
    ]
    frame = layout(
        x="seconds since the start",
        y="latency",
        unit="s",
        whole_x=False,
        height=340,
        short=True,
        from_zero=True,
    )
    note = "Percentiles of the answers that came in each slice of time."
    return [_chart("load-latency", "Latency over time", note, series.start_s, columns, frame)]


def _by_level(
    id: str, title: str, note: str, levels: Sequence[LevelSummary], columns: Sequence[_Column], frame: Any
) -> Chart:
    names = _names(levels)
    frame["xaxis"]["type"] = "category"
    heads = _Column(head="Level", cells=list(map(text_cell, names)))
    return _chart(id, title, note, list(map(plain, names)), [heads, *columns], frame)


def _names(levels: Sequence[LevelSummary]) -> list[str]:
    """Return each name once: a level that a search played again is one more place on the axis."""
    seen: Counter[str] = Counter()
    names = []
    for level in levels:
        seen[name := level.played.name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _of_percentiles(found: Sequence[Percentiles | None], names: Sequence[str]) -> list[_Column]:
    """Return a column for each of *names*, such as ``p50``; none where nothing was measured."""
    if not any(found):
        return []
    return [
        _column(name, f"{name} (s)", [getattr(one, f"{name}_s", None) for one in found], duration)
        for name in names
    ]


def _percentiles(
    levels: Sequence[LevelSummary], key: str, title: str, of: Callable[[LevelSummary], Percentiles | None]
) -> list[Chart]:
    columns = _of_percentiles(list(map(of, levels)), ("p50", "p90", "p95", "p99", "max"))
    frame = layout(x="level", y=title.lower(), whole_x=False, height=380)
    frame["yaxis"] |= log_ticks([value for column in columns for value in column.values])
    note = "The scale is logarithmic."
    return (
        [_by_level(f"load-{key}-levels", f"{title} by level", note, levels, columns, frame)]
        if columns
        else []
    )


def _rates(levels: Sequence[LevelSummary], limits: Sequence[str]) -> list[Chart]:
    measured = {
        "offered": [level.rates.turns_due for level in levels],
        "throughput": [level.rates.turns_answered for level in levels],
        "goodput": [level.goodput.per_s if level.goodput else None for level in levels],
    }
    columns = [
        _column(name, f"{name.capitalize()} (1/s)", values, "{:,.3g}/s".format)
        for name, values in measured.items()
        if any(value is not None for value in values)
    ]
    if not columns:
        return []
    failed = [sum(kind.turns for kind in level.errors) for level in levels]
    columns += [
        _Column(head="Asked", cells=[count_cell(level.total.turns) for level in levels]),
        _Column(head="Errors", cells=list(map(count_cell, failed))),
    ]
    frame = layout(x="level", y="per second", whole_x=False, height=340, from_zero=True)
    note = " ".join([*limits, "Goodput counts answers that kept the run's objectives."])
    return [_by_level("load-throughput", "Throughput by level", note, levels, columns, frame)]


def _quality(levels: Sequence[LevelSummary], units: Mapping[str, str]) -> list[Chart]:
    """Latency against quality, one point for each level."""
    points: dict[str, list[tuple[str, float, Estimate]]] = {}
    unit_of: dict[str, str] = {}
    for level in levels:
        for group in level.groups if level.total.latency else ():
            for score, estimate in group.total.scores.items():
                name = f"{score} ({group.group})" if len(level.groups) > 1 else score
                unit_of[name] = units.get(score, "")
                median_s = level.total.latency.p50_s if level.total.latency else 0.0
                points.setdefault(name, []).append((level.played.name, median_s, estimate))
    if not points:
        return []
    note = "Each point is a level. Answers that get worse under load move down as they move right."
    return [
        Chart(
            id="load-quality",
            title="Latency against quality",
            note=note,
            variants={name: _quality_of(name, found, unit_of[name]) for name, found in points.items()},
            summary=f"Scatter. {note}",
        )
    ]


def _quality_of(name: str, points: Sequence[tuple[str, float, Estimate]], unit: str) -> Variant:
    x = [median_s for _, median_s, _ in points]
    y = [to_percent(estimate.value, unit) for *_, estimate in points]
    trace = _curve(0, name, x, y, [plain(level) for level, *_ in points])
    trace["mode"] = "lines+markers+text"
    trace["textposition"] = "top center"
    trace["customdata"] = [f"{number(one.value, unit)}, {duration(at)}" for _, at, one in points]
    trace["hovertemplate"] = "%{text}: %{customdata}<extra></extra>"
    low, high = ([to_percent(getattr(one, end), unit) for *_, one in points] for end in ("low", "high"))
    if None not in (*low, *high):
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [end - v for end, v in zip(high, y, strict=True)],  # type: ignore[operator]
            "arrayminus": [v - end for end, v in zip(low, y, strict=True)],  # type: ignore[operator]
            "color": "--c2",
        }
    frame = layout(x="median latency (s)", y=with_unit(name, unit), unit=unit, whole_x=False)
    frame["hovermode"] = "closest"
    return Variant(
        traces=[trace],
        layout=frame,
        heads=("Level", "Median latency (s)", name, "Low", "High"),
        rows=[
            ChartRow(cells=(text_cell(level), value_cell(at, duration), *score_cells(one, unit)))
            for level, at, one in points
        ],
    )


def _by_depth(levels: Sequence[LevelSummary]) -> list[Chart]:
    """Of the highest level; none with several systems or policies, whose percentiles don't add up."""
    if not levels or len(levels[-1].groups) != 1:
        return []
    depths = levels[-1].groups[0].depths
    columns = _of_percentiles([cell.latency for cell in depths.values()], ("p50", "p95", "p99"))
    if not columns:
        return []
    columns[:0] = [
        _Column(head="Depth", cells=list(map(count_cell, depths))),
        _Column(head="Turns", cells=[count_cell(cell.turns) for cell in depths.values()]),
    ]
    frame = layout(x="turn depth", y="latency", unit="s", height=340, short=True, from_zero=True)
    note = f"At the highest level, {levels[-1].played.name}. Longer histories take longer to read."
    return [_chart("load-depth", "Latency by depth under load", note, list(depths), columns, frame)]


def _errors(levels: Sequence[LevelSummary]) -> list[Chart]:
    errors: Counter[str] = Counter()
    for level in levels:
        errors.update({kind.outcome: kind.turns for kind in level.errors})
    if not errors:
        return []
    kinds = sorted(errors.items(), key=lambda pair: (-pair[1], pair[0]))
    trace: Trace = {
        "type": "bar",
        "orientation": "h",
        "x": [count for _, count in kinds],
        "y": [plain(kind) for kind, _ in kinds],
        "marker": {"color": "--c1"},
        "hovertemplate": "%{y}: %{x}<extra></extra>",
    }
    frame = layout(x="turns", y="", whole_x=False, height=120 + 36 * len(kinds))
    frame["yaxis"] = {"autorange": "reversed", "automargin": True, "type": "category"}
    frame["hovermode"] = "closest"
    rows = [ChartRow(cells=(text_cell(kind), count_cell(count))) for kind, count in kinds]
    note = "How asks ended that brought no answer."
    return [_one_chart("load-errors", "Errors by kind", note, [trace], frame, ("Kind", "Turns"), rows)]


_GENERATOR_HEADS = (
    *("Level", "Generator", "Host", "Conversations", "Busy", "Late p50 (s)", "Late p99 (s)", "Late max (s)"),
    *("Lag p99 (s)", "Clock ahead (s)", "+- (s)", "Moved (s)"),
)


def _generators(levels: Sequence[LevelSummary]) -> list[Chart]:
    """Return a bar for each generator at each of *levels*; none where nobody is known."""
    known = [(name, level.played.generators) for name, level in zip(_names(levels), levels, strict=True)]
    if not any(generators for _, generators in known):
        return []
    traces = [
        {
            "type": "bar",
            "name": plain(name),
            "x": [plain(f"{one.number + 1} ({one.host})") for one in generators],
            "y": [one.lateness.p99_s if one.lateness else None for one in generators],
            "marker": {"color": _LOOKS[at % len(_LOOKS)][0]},
            "hovertemplate": "%{x}: %{y:.3g} s<extra></extra>",
        }
        for at, (name, generators) in enumerate(known)
    ]
    frame = layout(
        x="generator", y="late p99", unit="s", whole_x=False, height=300, short=True, from_zero=True
    )
    frame["xaxis"]["type"] = "category"
    rows = [ChartRow(cells=_generator_cells(name, one)) for name, generators in known for one in generators]
    note = (
        "How long after they could be sent each sent its asks: a late one understates what users would see."
    )
    title = "Who offered the load"
    return [_one_chart("load-generators", title, note, traces, frame, _GENERATOR_HEADS, rows)]


def _generator_cells(level: str, one: GeneratorReport) -> tuple[Cell, ...]:
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
