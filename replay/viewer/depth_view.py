"""*By depth*: scores, edits and latencies of each turn depth, with the number of turns underneath."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.report.curves import group_label, styles, tick_step, to_percent
from replay.scorers.scorer import SHARE
from replay.statistics.depth_row import DepthRow
from replay.statistics.depth_table import GroupTable
from replay.statistics.group import Group
from replay.statistics.run_numbers import Report
from replay.viewer import figures
from replay.viewer.charts import (
    Chart,
    ChartRow,
    Switches,
    Variant,
    count_cell,
    depth_row,
    score_cells,
    switches,
    value_cell,
)
from replay.viewer.checks_view import ChecksByDepth, checks_by_depth
from replay.viewer.figures import Trace, curve_with_band, hover, layout, line, with_bands_note
from replay.viewer.numbers import duration, headline, number, with_unit
from replay.viewer.repeats_view import repeat_charts
from replay.viewer.run_numbers import RunNumbers
from replay.viewer.survival_view import survival_chart

MOST_DEPTHS = 60
"""Deeper turns are left out of the charts, and the page says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthView:
    """The page's content."""

    switches: Switches
    charts: tuple[Chart, ...]
    left_out: str | None
    checks: Sequence[ChecksByDepth]


def depth_view(numbers: RunNumbers) -> DepthView:
    """The charts of a run; without any where nothing was asked yet."""
    table = numbers.report.table
    deepest = max((row.depth or 0 for one in table.groups for row in one.depths if row.turns), default=0)
    charts = [_scores(numbers.report, deepest)] if table.columns else []
    charts += repeat_charts(numbers.report.repeats) if numbers.report.repeats else []
    charts += [survival_chart(numbers.report.survival)] if numbers.report.survival else []
    charts += [_questions(numbers.report), *_latencies(numbers)]
    return DepthView(
        switches=switches(table.columns, _groups(numbers.report)),
        charts=tuple(charts),
        checks=list(checks_by_depth(numbers.report.checks, numbers.broken)),
        left_out=f"Depths {MOST_DEPTHS + 1} to {deepest} are not drawn." if deepest > MOST_DEPTHS else None,
    )


def _groups(report: Report) -> list[Group]:
    return [one.group for one in report.table.groups]


def _displayed_depths(group: GroupTable) -> list[DepthRow]:
    return [row for row in group.depths if (row.depth or 0) <= MOST_DEPTHS]


def _depths(rows: Sequence[DepthRow]) -> list[int]:
    return [row.depth for row in rows if row.depth is not None]


def headline_curve(report: Report) -> Chart | None:
    """
    Return one score by depth, for where there is room for one chart; None where nothing was scored.

    It is the score of the sentence on what testing with recorded answers hides, or else the headline score.
    """
    columns = report.table.columns
    name = report.hidden[0].gap.score if report.hidden else headline({n: c.unit for n, c in columns.items()})
    if not name or not any(one.total.turns for one in report.table.groups):
        return None
    head = with_unit(name, columns[name].unit)
    frame = layout(x="turn depth", y=head, unit=columns[name].unit, height=340, from_zero=True)
    frame["xaxis"]["dtick"] = _step(report)
    return Chart(
        id="headline-curve",
        title=f"{name} by turn depth",
        note=_bands(report),
        variants={"": _score_variant(report, name, frame)},
        summary=f"{name} by turn depth, a curve per system and policy; the table below has the numbers.",
    )


def _scores(report: Report, deepest: int) -> Chart:
    counts = [_turns_trace(one, _groups(report)) for one in report.table.groups]
    return Chart(
        id="scores-by-depth",
        title="Scores by depth",
        note=f"{_bands(report)} The bars underneath count turns: where they are low, a curve says little.",
        variants={
            name: _score_variant(report, name, _with_histogram(name, column.unit, deepest), counts)
            for name, column in report.table.columns.items()
        },
        summary="Score curves by turn depth, one per system and policy; the table below has the numbers.",
    )


def _bands(report: Report) -> str:
    intervals = f"Bands are {100 * report.table.confidence:g} % intervals over conversations."
    return with_bands_note(intervals, len(report.table.groups))


def _score_variant(
    report: Report, name: str, frame: Mapping[str, Any], counts: Sequence[Trace] = ()
) -> Variant:
    groups = _groups(report)
    looks = styles(groups)
    unit = report.table.columns[name].unit
    traces: list[Trace] = []
    rows: list[ChartRow] = []
    for one in report.table.groups:
        shown = _displayed_depths(one)
        found = [row.scores[name] for row in shown]
        texts = [
            f"{number(s.value, unit)} [{number(s.low, unit)}, {number(s.high, unit)}]  {s.scored:,} turns"
            for s in found
        ]
        traces += curve_with_band(one.group, groups, looks[one.group], _depths(shown), found, unit, texts)
        rows += [_score_row(one.group, row, name, unit) for row in (*shown, one.total)]
    heads = (
        *("System", "Policy", "Depth", "Turns", with_unit(name, unit), "Low", "High", "Scored", "Unscored"),
    )
    return Variant(traces=[*traces, *counts], layout=frame, heads=heads, rows=rows)


def _with_histogram(name: str, unit: str, deepest: int) -> dict[str, Any]:
    frame = layout(x="turn depth", y=with_unit(name, unit), unit=unit, height=480)
    step = tick_step(min(deepest, MOST_DEPTHS))
    frame["xaxis"] |= {"anchor": "y2", "dtick": step, "tick0": step if step == 1 else 0}
    frame["yaxis"] |= {"domain": [0.3, 1], "rangemode": "tozero"}
    frame["yaxis2"] = {"title": {"text": "turns"}, "domain": [0, 0.2], "nticks": 3, "rangemode": "tozero"}
    return {**frame, "barmode": "group", "bargap": 0.25}


def _turns_trace(one: GroupTable, groups: Sequence[Group]) -> Trace:
    rows = _displayed_depths(one)
    return {
        "type": "bar",
        "name": figures.plain(group_label(one.group, groups)),
        "x": _depths(rows),
        "y": [row.turns for row in rows],
        "yaxis": "y2",
        "marker": {"color": f"{styles(groups)[one.group].color}/0.55"},
        "legendgroup": figures.plain(str(one.group)),
        "showlegend": False,
        "hoverinfo": "skip",
        "meta": figures.meta(one.group),
    }


def _score_row(group: Group, row: DepthRow, name: str, unit: str) -> ChartRow:
    score = row.scores[name]
    counted = count_cell(score.scored), count_cell(sum(score.unscored.values()))
    return depth_row(group, row.depth, count_cell(row.turns), *score_cells(score, unit), *counted)


def _questions(report: Report) -> Chart:
    """Invalid and edited shares."""
    groups = _groups(report)
    looks = styles(groups)
    traces: list[Trace] = []
    rows: list[ChartRow] = []
    kinds: list[tuple[str, str, Callable[[DepthRow], float | None]]] = [
        ("invalid", "solid", lambda row: row.invalid_share),
        ("edited", "dot", lambda row: row.edited_share),
    ]
    for one in report.table.groups:
        shown = _displayed_depths(one)
        for kind, dash, share in kinds:
            if one.total.drift_checked if kind == "invalid" else one.total.edited:
                name = f"{group_label(one.group, groups)}, {kind}"
                shares = [to_percent(share(row), SHARE) for row in shown]
                more = {"hovertemplate": hover(name, "%{y:.1f} %")}
                trace = line(one.group, name, looks[one.group], _depths(shown), shares, **more)
                trace["line"]["dash"] = dash
                traces.append(trace)
        rows += [_question_row(one.group, row) for row in (*shown, one.total)]
    heads = (
        *("System", "Policy", "Depth", "Turns", "Judged", "Invalid", "Invalid %", "Edited", "Edited %"),
        *("Not found", "Rewrite failed", "Failed", "Skipped"),
    )
    frame = layout(x="turn depth", y="share of questions", unit=SHARE, height=340, from_zero=True)
    frame["xaxis"]["dtick"] = _step(report)
    return Chart(
        id="questions-by-depth",
        title="Invalid and edited questions",
        note="A question is invalid when a mention in it no longer refers to what it refers to in the "
        "recorded conversation. Policies that show gold answers have no verdict.",
        variants={"": Variant(traces=traces, layout=frame, heads=heads, rows=rows)},
        summary="Shares of invalid and of edited questions by turn depth.",
    )


def _question_row(group: Group, row: DepthRow) -> ChartRow:
    return depth_row(
        group,
        row.depth,
        *map(count_cell, (row.turns, row.drift_checked, row.invalid)),
        value_cell(row.invalid_share, number),
        count_cell(row.edited),
        value_cell(row.edited_share, number),
        *map(count_cell, (row.not_found, row.rewrite_failed, row.failed, row.skipped)),
    )


def _step(report: Report) -> int:
    deepest = max((len(one.depths) for one in report.table.groups), default=1)
    return tick_step(min(MOST_DEPTHS, deepest))


Ends = tuple[float | None, float | None]
"""Median and 95th percentile, in seconds."""


def _latencies(numbers: RunNumbers) -> list[Chart]:
    """Median and 95th percentile of the whole answer, and of its first piece where answers were streamed."""
    first = numbers.first_pieces
    charts = [
        _latency(
            numbers.report,
            "latency",
            "Latency",
            "last byte of the answer.",
            lambda group, row: (row.latency_p50_s, row.latency_p95_s),
        ),
        _latency(
            numbers.report,
            "ttft",
            "Time to first token",
            "first streamed piece with text.",
            lambda group, row: first.get((group, row.depth), (None, None)),
        ),
    ]
    return [chart for chart in charts if chart is not None]


def _latency(
    report: Report, kind: str, title: str, until: str, ends: Callable[[Group, DepthRow], Ends]
) -> Chart | None:
    groups = _groups(report)
    looks = styles(groups)
    traces: list[Trace] = []
    rows: list[ChartRow] = []
    for one in report.table.groups:
        shown = _displayed_depths(one)
        pairs = [ends(one.group, row) for row in shown]
        if not any(p50 is not None for p50, _ in pairs):
            continue
        curves = (("median", "solid", 1.0), ("95th percentile", "dot", 0.7))
        for (part, dash, opacity), values in zip(curves, zip(*pairs, strict=True), strict=True):
            name = f"{group_label(one.group, groups)}, {part}"
            more = {"text": list(map(duration, values)), "hovertemplate": hover(name)}
            trace = line(one.group, name, looks[one.group], _depths(shown), values, opacity=opacity, **more)
            trace["line"]["dash"] = dash
            traces.append(trace)
        for row in (*shown, one.total):
            cells = [value_cell(end, duration) for end in ends(one.group, row)]
            rows.append(depth_row(one.group, row.depth, count_cell(row.turns), *cells))
    if not traces:
        return None
    in_ms = all(y is None or y < 1 for trace in traces for y in trace["y"])
    if in_ms:
        for trace in traces:
            trace["y"] = [None if y is None else 1000 * y for y in trace["y"]]
    unit = "ms" if in_ms else "s"
    frame = layout(x="turn depth", y=title.lower(), unit=unit, height=340, from_zero=True)
    frame["xaxis"]["dtick"] = _step(report)
    heads = ("System", "Policy", "Depth", "Turns", "Median (s)", "95th percentile (s)")
    return Chart(
        id=f"{kind}-by-depth",
        title=f"{title} by depth",
        note=f"Of answered turns, from sending the question to the {until}",
        variants={"": Variant(traces=traces, layout=frame, heads=heads, rows=rows)},
        summary=f"{title} by turn depth: median and 95th percentile of each system and policy.",
    )
