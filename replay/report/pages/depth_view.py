"""
*By depth*: scores, edits and latencies of each turn depth, with the number of turns underneath.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from replay.report.pages import figures
from replay.report.pages.charts import Cell, Chart, Row, Switches, Table, Variant, count_cell, text_cell
from replay.report.pages.figures import Style, Trace, band, group_label, layout, line, scaled
from replay.report.pages.numbers import duration, number, percent, unit_name
from replay.report.pages.run_numbers import RunNumbers
from replay.statistics.depth_row import DepthRow
from replay.statistics.depth_table import GroupTable
from replay.statistics.group import Group
from replay.statistics.run_numbers import Report

MOST_DEPTHS = 60
"""Deeper turns are left out of the charts, and the page says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthView:
    """The page's content."""

    switches: Switches
    charts: tuple[Chart, ...]
    left_out: str | None


def depth_view(numbers: RunNumbers) -> DepthView:
    """The charts of a run; without any where nothing was asked yet."""
    table = numbers.report.table
    groups = [one.group for one in table.groups]
    looks = figures.styles(groups)
    deepest = max((row.depth or 0 for one in table.groups for row in one.depths if row.turns), default=0)
    charts = [_scores(numbers.report, looks, deepest)] if table.columns else []
    charts += [_questions(numbers.report, looks), *_latencies(numbers, looks)]
    return DepthView(
        switches=Switches(
            metrics=list(table.columns),
            systems=list(dict.fromkeys(group.system for group in groups)),
            policies=list(dict.fromkeys(group.policy for group in groups)),
        ),
        charts=tuple(charts),
        left_out=f"Depths {MOST_DEPTHS + 1} to {deepest} are not drawn." if deepest > MOST_DEPTHS else None,
    )


def _shown(group: GroupTable) -> list[DepthRow]:
    return [row for row in group.depths if (row.depth or 0) <= MOST_DEPTHS]


def _depths(rows: Sequence[DepthRow]) -> list[int]:
    return [row.depth for row in rows if row.depth is not None]


def _scores(report: Report, looks: dict[Group, Style], deepest: int) -> Chart:
    table, variants = report.table, {}
    groups = list(looks)
    counts = [_turns_trace(one, looks[one.group], group_label(one.group, groups)) for one in table.groups]
    for name, column in table.columns.items():
        traces: list[Trace] = []
        cells: list[Row] = []
        unit = column.unit
        for one in table.groups:
            rows = _shown(one)
            style, label = looks[one.group], group_label(one.group, groups)
            ends = [[scaled(getattr(row.scores[name], end), unit) for row in rows] for end in ("low", "high")]
            texts = [
                f"{number(s.value, unit)} [{number(s.low, unit)}, {number(s.high, unit)}]  {s.scored:,} turns"
                for s in (row.scores[name] for row in rows)
            ]
            depths = _depths(rows)
            values = [scaled(row.scores[name].value, unit) for row in rows]
            traces.append(band(one.group, style, depths, *ends, among=len(groups)))
            traces.append(
                line(
                    one.group,
                    label,
                    style,
                    depths,
                    values,
                    text=texts,
                    hovertemplate=f"{figures.plain(label)}: %{{text}}<extra></extra>",
                )
            )
            cells += [
                _score_row(one.group, row, name, unit) for row in one.rows if row in rows or row.depth is None
            ]
        shown = unit_name(unit)
        head = f"{name} ({shown})" if shown else name
        heads = ("System", "Policy", "Depth", "Turns", head, "Low", "High", "Scored", "Unscored")
        variants[name] = Variant(
            figure={"data": [*traces, *counts], "layout": _with_histogram(name, unit, deepest)},
            table=Table(heads=heads, rows=tuple(cells)),
        )
    confidence = f"{100 * table.confidence:g} %"
    return Chart(
        id="scores-by-depth",
        title="Scores by depth",
        note=f"Bands are {confidence} intervals over conversations. The bars underneath count turns: where "
        "they are low, a curve says little.",
        variants=variants,
        summary="Score curves by turn depth, one per system and policy; the table below has the numbers.",
    )


def _with_histogram(name: str, unit: str, deepest: int) -> dict[str, object]:
    shown = unit_name(unit)
    frame = layout(x="turn depth", y=f"{name} ({shown})" if shown else name, unit=unit, height=480)
    step = figures.tick_step(min(deepest, MOST_DEPTHS))
    frame["xaxis"] = {**frame["xaxis"], "anchor": "y2", "dtick": step, "tick0": step if step == 1 else 0}
    frame["yaxis"] = {**frame["yaxis"], "domain": [0.3, 1], "rangemode": "tozero"}
    frame["yaxis2"] = {"title": {"text": "turns"}, "domain": [0, 0.2], "nticks": 3, "rangemode": "tozero"}
    return {**frame, "barmode": "group", "bargap": 0.25}


def _turns_trace(one: GroupTable, style: Style, label: str) -> Trace:
    rows = _shown(one)
    return {
        "type": "bar",
        "name": figures.plain(label),
        "x": _depths(rows),
        "y": [row.turns for row in rows],
        "yaxis": "y2",
        "marker": {"color": f"{style.color}/0.55"},
        "legendgroup": figures.plain(str(one.group)),
        "showlegend": False,
        "hoverinfo": "skip",
        "meta": figures.meta(one.group),
    }


def _score_row(group: Group, row: DepthRow, name: str, unit: str) -> Row:
    score = row.scores[name]
    return Row(
        group=group,
        cells=(
            text_cell(group.system),
            text_cell(group.policy),
            _depth_cell(row),
            count_cell(row.turns),
            *(Cell(shown=number(v, unit), exact=v) for v in (score.value, score.low, score.high)),
            count_cell(score.scored),
            count_cell(sum(score.unscored.values())),
        ),
    )


def _depth_cell(row: DepthRow) -> Cell:
    return Cell(shown="all" if row.depth is None else str(row.depth), exact=row.depth or "all")


def _questions(report: Report, looks: dict[Group, Style]) -> Chart:
    """Invalid and edited shares."""
    groups = list(looks)
    traces: list[Trace] = []
    cells: list[Row] = []
    kinds: list[tuple[str, str, Callable[[DepthRow], float | None]]] = [
        ("invalid", "solid", lambda row: row.invalid_share),
        ("edited", "dot", lambda row: row.edited_share),
    ]
    for one in report.table.groups:
        style, label = looks[one.group], group_label(one.group, groups)
        for kind, dash, share in kinds:
            if not (one.total.drift_checked if kind == "invalid" else one.total.edited):
                continue
            rows = _shown(one)
            found = [scaled(share(row), "share") for row in rows]
            trace = line(one.group, f"{label}, {kind}", style, _depths(rows), found)
            trace["line"]["dash"] = dash
            trace["hovertemplate"] = f"{figures.plain(label)}, {kind}: %{{y:.1f}} %<extra></extra>"
            traces.append(trace)
        for row in (*_shown(one), one.total):
            parts = (
                text_cell(one.group.system),
                text_cell(one.group.policy),
                _depth_cell(row),
                count_cell(row.turns),
                count_cell(row.drift_checked),
                count_cell(row.invalid),
                Cell(shown=percent(row.invalid_share), exact=row.invalid_share),
                count_cell(row.edited),
                Cell(shown=percent(row.edited_share), exact=row.edited_share),
                count_cell(row.not_found),
                count_cell(row.rewrite_failed),
                count_cell(row.failed),
                count_cell(row.skipped),
            )
            cells.append(Row(group=one.group, cells=parts))
    heads = (
        *("System", "Policy", "Depth", "Turns", "Judged", "Invalid", "Invalid %", "Edited", "Edited %"),
        *("Not found", "Rewrite failed", "Failed", "Skipped"),
    )
    frame = layout(x="turn depth", y="share of questions", unit="share", height=340)
    frame["yaxis"] = {**frame["yaxis"], "rangemode": "tozero"}
    frame["xaxis"] = {**frame["xaxis"], "dtick": figures.tick_step(_deepest(report))}
    return Chart(
        id="questions-by-depth",
        title="Invalid and edited questions",
        note="A question is invalid when a mention in it no longer refers to what it refers to in the "
        "recorded conversation. Policies that show gold answers have no verdict.",
        variants={
            "": Variant(figure={"data": traces, "layout": frame}, table=Table(heads=heads, rows=tuple(cells)))
        },
        summary="Shares of invalid and of edited questions by turn depth.",
    )


def _deepest(report: Report) -> int:
    return min(MOST_DEPTHS, max((len(one.depths) for one in report.table.groups), default=1))


def _latencies(numbers: RunNumbers, looks: dict[Group, Style]) -> list[Chart]:
    """Median and 95th percentile of the whole answer, and of its first piece where answers were streamed."""
    table, first = numbers.report.table, numbers.first_pieces
    groups = list(looks)

    def ends(row: DepthRow, group: Group, kind: str) -> tuple[float | None, float | None]:
        if kind == "latency":
            return row.latency_p50_s, row.latency_p95_s
        found = first.get((group, row.depth))
        return (found.p50_s, found.p95_s) if found else (None, None)

    charts = []
    for kind, title in (("latency", "Latency"), ("ttft", "Time to first token")):
        traces: list[Trace] = []
        cells: list[Row] = []
        longest = 0.0
        for one in table.groups:
            style, label = looks[one.group], group_label(one.group, groups)
            rows = _shown(one)
            pairs = [ends(row, one.group, kind) for row in rows]
            if not any(p50 is not None for p50, _ in pairs):
                continue
            longest = max([longest, *(p95 for _, p95 in pairs if p95 is not None)])
            for part, (name, dash, opacity) in enumerate(
                (("median", "solid", 1.0), ("95th percentile", "dot", 0.7))
            ):
                values = [pair[part] for pair in pairs]
                trace = line(one.group, f"{label}, {name}", style, _depths(rows), values, opacity=opacity)
                trace["line"]["dash"] = dash
                trace["text"] = [duration(value) for value in values]
                trace["hovertemplate"] = f"{figures.plain(label)}, {name}: %{{text}}<extra></extra>"
                traces.append(trace)
            for row in (*rows, one.total):
                p50, p95 = ends(row, one.group, kind)
                parts = (
                    text_cell(one.group.system),
                    text_cell(one.group.policy),
                    _depth_cell(row),
                    count_cell(row.turns),
                    Cell(shown=duration(p50), exact=p50),
                    Cell(shown=duration(p95), exact=p95),
                )
                cells.append(Row(group=one.group, cells=parts))
        if not traces:
            continue
        if longest < 1:
            for trace in traces:
                trace["y"] = [None if y is None else 1000 * y for y in trace["y"]]
        frame = layout(x="turn depth", y=title.lower(), unit="s" if longest >= 1 else "ms", height=340)
        frame["yaxis"] = {**frame["yaxis"], "rangemode": "tozero"}
        frame["xaxis"] = {**frame["xaxis"], "dtick": figures.tick_step(_deepest(numbers.report))}
        heads = ("System", "Policy", "Depth", "Turns", "Median (s)", "95th percentile (s)")
        charts.append(
            Chart(
                id=f"{kind}-by-depth",
                title=f"{title} by depth",
                note="Of answered turns, from sending the question to the "
                + ("last byte of the answer." if kind == "latency" else "first streamed piece with text."),
                variants={
                    "": Variant(
                        figure={"data": traces, "layout": frame}, table=Table(heads=heads, rows=tuple(cells))
                    )
                },
                summary=f"{title} by turn depth: median and 95th percentile of each system and policy.",
            )
        )
    return charts
