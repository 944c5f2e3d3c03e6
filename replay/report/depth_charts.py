"""Charts of a run's numbers by turn depth: scores, questions, latencies, differences from another side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from replay.report.charts import (
    Chart,
    ChartRow,
    IntervalCurve,
    Trace,
    Variant,
    count_cell,
    depth_row,
    group_label,
    hover,
    layout,
    line,
    meta,
    plain,
    score_cells,
    styles,
    tick_step,
    to_percent,
    value_cell,
    variant,
    with_bands_note,
)
from replay.report.document import ChartFigure
from replay.report.numbers import duration, headline, number, p_value, unit_name, with_unit
from replay.scorers.scorer import SHARE
from replay.statistics.comparison import Comparison
from replay.statistics.depth_table import DepthRow, GroupTable
from replay.statistics.group import Group
from replay.statistics.paired import PairedDifference
from replay.statistics.run_comparison import ComparisonReport
from replay.statistics.run_numbers import Report

MOST_DEPTHS = 60
"""Deeper turns are left out of the charts, and whoever shows them says so."""
MOST_FIGURES = 8
"""Scores with a figure of their own."""


def depth_figures(report: Report) -> list[ChartFigure]:
    """Return a figure for each score and for invalid questions; none of a run of single turns."""
    if deepest(report) < 2:
        return []
    charts = [question_chart(report)]
    scores = list(report.table.columns)[:MOST_FIGURES]
    if scores:
        charts.insert(0, score_chart(report, scores))
    return [_figure(chart, name) for chart in charts for name in chart.variants]


def difference_figures(report: ComparisonReport) -> list[ChartFigure]:
    """Return a figure for each score whose differences were asked for by depth."""
    rows = (row for pair in report.pairs for one in pair.comparisons for row in one.rows)
    if all(row.difference.depth is None for row in rows):
        return []
    chart = difference_chart(report)
    return [_figure(chart, name) for name in list(chart.variants)[:MOST_FIGURES]]


def _figure(chart: Chart, name: str) -> ChartFigure:
    return ChartFigure(f"{chart.title}: {name}" if name else chart.title, chart.figures[name])


def deepest(report: Report) -> int:
    """Return the depth of the deepest turn that was asked; 0 without any."""
    return max((row.depth or 0 for one in report.table.groups for row in one.depths if row.turns), default=0)


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


def score_chart(report: Report, names: Sequence[str]) -> Chart:
    """Return the scores called *names* by depth, with the number of turns underneath."""
    counts = [_turns_trace(one, _groups(report)) for one in report.table.groups]
    return Chart(
        id="scores-by-depth",
        title="Scores by depth",
        note=f"{_bands(report)} The bars underneath count turns: where they are low, a curve says little.",
        variants={
            name: _score_variant(
                report, name, _with_histogram(name, report.table.columns[name].unit, deepest(report)), counts
            )
            for name in names
        },
        summary="Score curves by turn depth, one per system and policy; the table below has the numbers.",
    )


def _bands(report: Report) -> str:
    intervals = f"Bands are {100 * report.table.confidence:g} % intervals over conversations."
    return with_bands_note(intervals, len(report.table.groups))


def _score_variant(
    report: Report, name: str, frame: Mapping[str, Any], counts: Sequence[Trace] = ()
) -> Variant:
    unit = report.table.columns[name].unit
    curves = []
    for one in report.table.groups:
        shown = _displayed_depths(one)
        found = [row.scores[name] for row in shown]
        texts = [
            f"{number(s.value, unit)} [{number(s.low, unit)}, {number(s.high, unit)}]  {s.scored:,} turns"
            for s in found
        ]
        rows = [_score_row(one.group, row, name, unit) for row in (*shown, one.total)]
        curves.append(IntervalCurve(one.group, _depths(shown), found, texts, rows))
    heads = ("System", "Policy", "Depth", "Turns", with_unit(name, unit), "Low", "High", "Scored", "Unscored")
    return variant(curves, unit, heads, frame, more=counts)


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
        "name": plain(group_label(one.group, groups)),
        "x": _depths(rows),
        "y": [row.turns for row in rows],
        "yaxis": "y2",
        "marker": {"color": f"{styles(groups)[one.group].color}/0.55"},
        "legendgroup": plain(str(one.group)),
        "showlegend": False,
        "hoverinfo": "skip",
        "meta": meta(one.group),
    }


def _score_row(group: Group, row: DepthRow, name: str, unit: str) -> ChartRow:
    score = row.scores[name]
    counted = count_cell(score.scored), count_cell(sum(score.unscored.values()))
    return depth_row(group, row.depth, count_cell(row.turns), *score_cells(score, unit), *counted)


def question_chart(report: Report) -> Chart:
    """Return the chart of the shares of invalid and of edited questions."""
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


def latency_charts(report: Report, first: Mapping[tuple[Group, int | None], Ends]) -> list[Chart]:
    """Return medians and 95th percentiles of whole answers, and of *first* pieces where there are such."""
    charts = [
        _latency(
            report,
            "latency",
            "Latency",
            "last byte of the answer.",
            lambda group, row: (row.latency_p50_s, row.latency_p95_s),
        ),
        _latency(
            report,
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


def gap_chart(gaps: Sequence[PairedDifference]) -> Chart:
    """Return the differences from gold by depth."""
    groups = list(dict.fromkeys(gap.second for gap in gaps))
    looks = styles([*groups, *dict.fromkeys(gap.first for gap in gaps)])
    most = max((row.depth or 1 for gap in gaps for row in gap.depths), default=1)
    variants = {}
    for score in dict.fromkeys(gap.score for gap in gaps):
        curves = []
        chosen = [gap for gap in gaps if gap.score == score]
        unit = chosen[0].unit
        for gap in chosen:
            texts = [
                f"{number(r.value, unit, signed=True)} [{number(r.low, unit)}, {number(r.high, unit)}]  "
                f"{r.turns:,} turns"
                for r in gap.depths
            ]
            rows = [
                depth_row(
                    gap.second,
                    row.depth,
                    count_cell(row.turns),
                    count_cell(row.conversations),
                    *score_cells(row, unit, signed=True),
                )
                for row in (*gap.depths, gap.total)
            ]
            depths = [row.depth or 0 for row in gap.depths]
            curves.append(IntervalCurve(gap.second, depths, gap.depths, texts, rows))
        name = f"{score} minus gold ({unit_name(unit) or 'points'})"
        heads = ("System", "Policy", "Depth", "Turns", "Conversations", name, "Low", "High")
        frame = _difference_frame(name, unit)
        frame["xaxis"]["dtick"] = tick_step(most)
        variants[score] = variant(curves, unit, heads, frame, groups=groups, looks=looks)
    return Chart(
        id="gap-by-depth",
        title="Difference from gold, on the same turns",
        note=with_bands_note(
            "Below zero, the policy scores lower than the same system with gold answers in its history. Each "
            "difference is over turns that both sides have a score for; whole conversations are resampled.",
            len(groups),
        ),
        variants=variants,
        summary="Paired differences from the gold policy by turn depth, one curve for each policy.",
    )


def difference_chart(report: ComparisonReport) -> Chart:
    """Return the differences of a comparison by depth."""
    groups = list(dict.fromkeys(pair.second for pair in report.pairs))
    scores = dict.fromkeys(one.score for pair in report.pairs for one in pair.comparisons)
    variants = {}
    for score in scores:
        found = [(p.second, one) for p in report.pairs for one in p.comparisons if one.score == score]
        unit = found[-1][1].unit
        curves = []
        for group, one in found:
            deep = [row for row in one.rows if row.difference.depth is not None]
            texts = [
                f"{number(row.difference.value, unit, signed=True)}, p Holm {p_value(row.adjusted_p)}, "
                f"{row.difference.turns:,} turns"
                for row in deep
            ]
            differences = [row.difference for row in deep]
            depths = [difference.depth or 0 for difference in differences]
            curves.append(IntervalCurve(group, depths, differences, texts, _difference_rows(group, one)))
        name = f"{score}, B minus A ({unit_name(unit) or 'points'})"
        heads = ("System", "Policy", "Depth", "Turns", "A", "B", name, "Low", "High", "p", "p Holm")
        variants[score] = variant(curves, unit, heads, _difference_frame(name, unit), groups=groups)
    return Chart(
        id="difference-by-depth",
        title="Differences by depth",
        note=with_bands_note(
            "Above zero, B scores higher. p Holm is corrected for all depths of these two runs.", len(groups)
        ),
        variants=variants,
        summary="Differences of the two runs by turn depth, one curve for each policy.",
    )


def _difference_frame(name: str, unit: str) -> dict[str, Any]:
    frame = layout(x="turn depth", y=name, unit=unit)
    frame["yaxis"]["zeroline"] = True
    return frame


def _difference_rows(group: Group, one: Comparison) -> list[ChartRow]:
    return [
        depth_row(
            group,
            row.difference.depth,
            count_cell(row.difference.turns),
            *(value_cell(side, lambda v: number(v, one.unit)) for side in (row.first, row.second)),
            *score_cells(row.difference, one.unit, signed=True),
            *(value_cell(p, p_value) for p in (row.test.p if row.test else None, row.adjusted_p)),
        )
        for row in one.rows
    ]
