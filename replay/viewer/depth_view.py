"""*By depth*: scores, edits and latencies of each depth; of a run with repeats, pass^k and the spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replay.report.charts import (
    Cell,
    Chart,
    ChartRow,
    IntervalCurve,
    Switches,
    Trace,
    Variant,
    count_cell,
    curve_with_band,
    depth_row,
    group_label,
    hover,
    layout,
    line,
    meta,
    plain,
    score_cells,
    styles,
    switches,
    text_cell,
    tick_step,
    to_percent,
    value_cell,
    variant,
    with_bands_note,
)
from replay.report.depth_charts import MOST_DEPTHS, deepest, latency_charts, question_chart, score_chart
from replay.report.numbers import count_text, duration, number, with_unit
from replay.report.printing import LAYOUTS, TextColumn
from replay.report.run_tables import turn_group_columns
from replay.report.script_tables import SURVIVAL_NOTE, SURVIVAL_TITLE
from replay.scorers.scorer import SHARE
from replay.statistics.group import Group, groups_in_order
from replay.statistics.pass_curves import PassCurve
from replay.statistics.recorded import ScriptSurvival
from replay.statistics.repeats import RepeatNumbers
from replay.statistics.run_numbers import GroupServerTimes, ServerTimesRow
from replay.viewer.overview import ChecksByDepth, checks_by_depth
from replay.viewer.run_numbers import BrokenRule, RunNumbers

DRAWN_DEPTHS = 6
"""More curves than that for each system and policy can't be told apart; the table has all."""


def repeat_charts(repeats: RepeatNumbers) -> list[Chart]:
    """Return the charts; none of pass^k where no score is 0 or 1."""
    scores = list(dict.fromkeys(curve.score for curve in repeats.curves))
    lacking = any(curve.incomplete for curve in repeats.curves)
    passing = Chart(
        id="pass-by-k",
        title="How often all of k plays pass",
        note=with_bands_note(
            "Of whole conversations, thick and with its interval; of the first depths, thin. A curve that "
            "falls steeply is that of a system that passes by luck."
            + (" Where plays lack a score, a larger k rests on fewer cases." if lacking else ""),
            len({curve.group for curve in repeats.curves}),
        ),
        variants={score: _passes(repeats, score) for score in scores},
        summary="pass^k over k, by turn depth and of whole conversations; the table below has pass@k too.",
    )
    return [*([passing] if scores else []), _spread(repeats)]


def _passes(repeats: RepeatNumbers, score: str) -> Variant:
    curves = [curve for curve in repeats.curves if curve.score == score]
    groups = groups_in_order(curve.group for curve in repeats.curves)
    looks, ks = styles(groups), list(range(1, repeats.times + 1))
    traces: list[Trace] = []
    for curve in curves:
        if curve.whole:
            texts = [
                f"{number(one.value, SHARE)}, {count_text(one.scored, 'conversation')}"
                for one in curve.passes_all
            ]
            traces += curve_with_band(
                curve.group, groups, looks[curve.group], ks, curve.passes_all, SHARE, texts
            )
        elif curve.depth is not None and curve.depth <= DRAWN_DEPTHS:
            traces.append(_thin(curve, groups, ks))
    return Variant(
        traces=traces,
        layout=layout(x="k", y=f"pass^k of {score}", unit=SHARE, from_zero=True),
        heads=("System", "Policy", "Of", "k", "Cases", "pass^k", "Low", "High", "pass@k", "Low", "High"),
        rows=[
            ChartRow(
                group=curve.group,
                cells=(
                    *_of(curve.group, curve.label),
                    count_cell(k),
                    count_cell(every.scored),
                    *score_cells(every, SHARE),
                    *score_cells(some, SHARE),
                ),
            )
            for curve in curves
            for k, every, some in zip(ks, curve.passes_all, curve.passes_any, strict=True)
        ],
    )


def _thin(curve: PassCurve, groups: Sequence[Group], ks: Sequence[int]) -> Trace:
    name = f"{group_label(curve.group, groups)}, {curve.label}"
    look = styles(groups)[curve.group]
    values = [to_percent(one.value, SHARE) for one in curve.passes_all]
    trace = line(curve.group, name, look, ks, values, hovertemplate=hover(name, "%{y:.1f} %"))
    trace["line"] |= {"dash": "dot", "width": 1}
    trace["marker"] |= {"symbol": f"{look.marker}-open", "size": 5}
    return {**trace, "showlegend": False}


def _spread(repeats: RepeatNumbers) -> Chart:
    groups = groups_in_order(row.group for row in repeats.spread)
    looks, ks = styles(groups), list(range(1, repeats.times + 1))
    variants = {}
    for score in dict.fromkeys(row.score for row in repeats.spread):
        rows = [row for row in repeats.spread if row.score == score]
        unit = SHARE if rows[0].percent else ""
        traces = []
        for row in rows:
            if row.depth is None:
                label = group_label(row.group, groups)
                values = [to_percent(value, unit) for value in row.values]
                more = {"hovertemplate": hover(label, "%{y:.4~g}"), "mode": "markers"}
                traces.append(line(row.group, label, looks[row.group], ks, values, **more))
        head = with_unit(score, unit)
        variants[score] = Variant(
            traces=traces,
            layout=layout(x="play", y=head, unit=unit, height=300),
            heads=("System", "Policy", "Depth", "Mean", "Standard deviation", "Least", "Most"),
            rows=[
                ChartRow(
                    group=row.group,
                    cells=(
                        *_of(row.group, "all" if row.depth is None else str(row.depth)),
                        *(
                            value_cell(value, lambda v, unit=unit: number(v, unit))  # type: ignore[misc]
                            for value in (row.mean, row.deviation, row.least, row.most)
                        ),
                    ),
                )
                for row in rows
            ],
        )
    return Chart(
        id="spread-between-plays",
        title="Each play by itself",
        note="How far the numbers lie apart says what the same conversations would give if they were asked "
        "again; the intervals above, what other conversations would.",
        variants=variants,
        summary="The score of each play, all depths together; the table below has the spread by depth.",
    )


def _of(group: Group, label: str) -> tuple[Cell, ...]:
    return text_cell(group.system), text_cell(group.policy), text_cell(label)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthView:
    """The page's content."""

    switches: Switches
    charts: tuple[Chart, ...]
    left_out: str | None
    tables: Sequence[tuple[str, Sequence[TextColumn]]]
    """Scores by what the data say of questions, by title."""
    checks: Sequence[ChecksByDepth]
    rules: Mapping[str, BrokenRule]
    """All that failed, by id."""


def depth_view(numbers: RunNumbers) -> DepthView:
    """Return the charts of a run; none where nothing was asked yet."""
    report = numbers.report
    charts = [score_chart(report, list(report.table.columns))] if report.table.columns else []
    charts += repeat_charts(report.repeats) if report.repeats else []
    charts += [survival_chart(report.survival)] if report.survival else []
    charts += [question_chart(report), *latency_charts(report, numbers.first_pieces)]
    charts += [server_times_chart(report.server)] if report.server else []
    depth = deepest(report)
    return DepthView(
        switches=switches(report.table.columns, [one.group for one in report.table.groups]),
        charts=tuple(charts),
        tables=[
            (f"By {one.by}", turn_group_columns(one, report.table, LAYOUTS[0])) for one in report.turn_groups
        ],
        checks=list(checks_by_depth(report.checks)),
        rules=numbers.rules,
        left_out=f"Depths {MOST_DEPTHS + 1} to {depth} are not drawn." if depth > MOST_DEPTHS else None,
    )


def survival_chart(found: Sequence[ScriptSurvival]) -> Chart:
    """Return a chart with a curve for each system and policy: how far the recorded script carries."""
    curves = [
        IntervalCurve(
            one.group,
            [row.depth for row in one.rows],
            one.rows,
            [f"{number(row.value, SHARE)}, {row.at_risk:,} at risk" for row in one.rows],
            [
                depth_row(
                    one.group,
                    row.depth,
                    *map(count_cell, (row.at_risk, row.broken)),
                    *score_cells(row, SHARE),
                )
                for row in one.rows
            ],
        )
        for one in found
    ]
    frame = layout(x="turn depth", y="conversations", unit=SHARE, height=340, from_zero=True)
    frame["xaxis"]["dtick"] = tick_step(max(len(one.rows) for one in found))
    heads = ("System", "Policy", "Depth", "At risk", "Broken", "Share", "Low", "High")
    return Chart(
        id="script-survival",
        title=SURVIVAL_TITLE,
        note=f"{SURVIVAL_NOTE[0].upper()}{SURVIVAL_NOTE[1:]}",
        variants={"": variant(curves, SHARE, heads, frame)},
        summary="Share of conversations whose recorded questions still fit, by turn depth.",
    )


_COLORS = {
    "queue": "--c5",
    "prefill": "--c2",
    "decode": "--c3",
    "other server time": "--c4",
    "network and client": "--c1/0.3",
}
_MEANS = ("latency", "ttft", "queue", "prefill", "decode", "server")


def server_times_chart(found: Sequence[GroupServerTimes]) -> Chart:
    """Return a chart with a bar for each depth: what servers say they took, as parts of our latency."""
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
                *(value_cell(getattr(row, f"{name}_s"), duration) for name in _MEANS),
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
