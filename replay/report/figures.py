"""
Pictures for papers, by what they show.

``depth``: a score with intervals. ``gap``: differences to gold on the same turns. ``latency``: medians and
95th percentiles of latency and time to first token. ``agreement``: how far a run's own scores agree, turn by
turn: a judge with word overlap, one judge with another. Agreement with people is another question, and
``replay agree --plots`` draws it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from replay.core.errors import InputError
from replay.core.record import TurnRecord
from replay.report.drawing import (
    COLOURS,
    GREY,
    WIDTHS_IN,
    Look,
    PlotFrame,
    PlottedRun,
    Width,
    chosen_metrics,
    dodge,
    draw_counts,
    draw_legend,
    frame,
    looks,
    new_figure,
    note_few,
    plain,
    zero_line,
)
from replay.report.printing import IntervalValue
from replay.scorers.operational import Measure, read_measure
from replay.scorers.scorer import SHARE
from replay.statistics.depth_table import FEW_CONVERSATIONS
from replay.statistics.estimate import NumberWithInterval
from replay.statistics.group import group_of
from replay.statistics.interval import Interval, UndefinedNumber
from replay.statistics.model_agreement import CorrelationName, correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _Point(NamedTuple):
    depth: int
    value: float
    ends: tuple[float, float] | None
    conversations: int


class _DepthRow(IntervalValue, Protocol):
    @property
    def conversations(self) -> int: ...


def depth_figure(runs: Sequence[PlottedRun], metrics: Sequence[str], width: Width) -> Figure:
    """
    Return a figure with a panel for each of *metrics*, a line with its interval as a band for each group.

    Raises:
        InputError: a run lacks a metric.
    """
    names, known = chosen_metrics(runs, metrics), looks(runs)
    made = frame(len(names), width=width, entries=[look.label for look in known.values()])
    tables = [(known[place, t.group], t) for place, run in enumerate(runs) for t in run.tables()]
    shown = []
    for axes, name in zip(made.panels, names, strict=True):
        unit = runs[0].report.table.columns[name].unit
        for look, table in tables:
            points = _points([(row.depth, row.scores[name]) for row in table.depths], unit)
            shown += points
            _draw_line(axes, look, points)
        axes.set_ylabel(_axis(name, unit))
    draw_counts(
        made, {look: {row.depth or 0: row.turns for row in t.depths if row.turns} for look, t in tables}
    )
    _finish(made, list(known.values()), shown)
    return made.figure


def gap_figure(runs: Sequence[PlottedRun], metrics: Sequence[str], width: Width) -> Figure:
    """
    Return a figure with a panel for each of *metrics*, and in it each group's difference to gold by depth,
    with intervals.

    Raises:
        InputError: a run lacks a metric, or no system was played under gold and another of the policies.
    """
    names, known = chosen_metrics(runs, metrics), looks(runs)
    gaps = {
        (name, known[place, gap.second]): gap
        for place, run in enumerate(runs)
        for gap in run.report.gaps
        for name in names
        if gap.score == name and gap.second in run.groups
    }
    if not gaps:
        raise InputError(
            "there is no gap to draw: it takes a system that was played under gold and under another policy"
        )
    drawn = list(dict.fromkeys(look for _, look in gaps))
    made = frame(len(names), width=width, entries=[look.label for look in drawn])
    shown = []
    for axes, name in zip(made.panels, names, strict=True):
        zero_line(axes)
        unit = runs[0].report.table.columns[name].unit
        for place, look in enumerate(drawn):
            if gap := gaps.get((name, look)):
                points = _points([(row.depth, row) for row in gap.depths], gap.unit)
                shown += points
                _draw_bars(axes, look, points, dodge(place, len(drawn)))
        axes.set_ylabel(f"{plain(name)} minus gold{_points_of(unit)}")
    first = {look: gaps[names[0], look] for look in drawn if (names[0], look) in gaps}
    draw_counts(made, {look: {r.depth or 0: r.turns for r in gap.depths} for look, gap in first.items()})
    made.counts[0].set_ylabel("turns in\ncommon")
    _finish(made, drawn, shown, only_marks=True)
    return made.figure


def _points(rows: Sequence[tuple[int | None, _DepthRow]], unit: str) -> list[_Point]:
    """Return a point for each row that has a value; shares in per cent."""
    by = 100 if unit == SHARE else 1
    return [
        _Point(
            depth or 0,
            by * row.value,
            None if row.low is None or row.high is None else (by * row.low, by * row.high),
            row.conversations,
        )
        for depth, row in rows
        if row.value is not None
    ]


def _draw_marks(axes: Axes, look: Look, points: Sequence[_Point], beside: float = 0.0) -> None:
    marks = look.markers([point.conversations for point in points])
    axes.scatter([point.depth + beside for point in points], [point.value for point in points], **marks)


def _draw_line(axes: Axes, look: Look, points: Sequence[_Point]) -> None:
    depths = [point.depth for point in points]
    axes.plot(depths, [point.value for point in points], color=look.colour, linestyle=look.dashes)
    _draw_marks(axes, look, points)
    at = [point.depth for point in points if point.ends]
    lower, upper = ([point.ends[end] for point in points if point.ends] for end in (0, 1))
    axes.fill_between(at, lower, upper, color=look.colour, alpha=0.1, linewidth=0)
    for ends in (lower, upper):
        # Bands of policies that differ little lie on each other; their edges tell them apart.
        axes.plot(at, ends, color=look.colour, linestyle=look.dashes, linewidth=0.4, alpha=0.6)


def _draw_bars(axes: Axes, look: Look, points: Sequence[_Point], beside: float) -> None:
    at = [point.depth + beside for point in points if point.ends]
    lower, upper = ([point.ends[end] for point in points if point.ends] for end in (0, 1))
    axes.vlines(at, lower, upper, color=look.colour, linewidth=0.9)
    _draw_marks(axes, look, points, beside)


def _axis(name: str, unit: str) -> str:
    shown = "%" if unit == SHARE else unit
    return f"{plain(name)} ({shown})" if shown else plain(name)


def _points_of(unit: str) -> str:
    """A difference of percentages is in percentage points."""
    shown = "points" if unit == SHARE else unit
    return f" ({shown})" if shown else ""


def _finish(
    made: PlotFrame, known: Sequence[Look], shown: Sequence[_Point], only_marks: bool = False
) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **{**look.line, **({"linestyle": ""} if only_marks else {})}) for look in known]
    draw_legend(made, handles, [look.label for look in known])
    note_few(made, any(point.conversations < FEW_CONVERSATIONS for point in shown))


LOG_FROM = 30.0
"""Where the slowest is so many times the fastest, the scale is logarithmic."""
Waits = Mapping[Look, Mapping[int, Sequence[TurnRecord]]]


def latency_figure(runs: Sequence[PlottedRun], width: Width) -> Figure:
    """
    Return a figure with a panel for latency and one for time to first token, if any answer came in pieces.

    Raises:
        InputError: no turn was answered.
    """
    known = looks(runs)
    answered: dict[Look, dict[int, list[TurnRecord]]] = {look: {} for look in known.values()}
    for place, run in enumerate(runs):
        for record in run.scored.records:
            if group_of(record) in run.groups and record.outcome == "answered" and record.timing:
                look = known[place, group_of(record)]
                answered[look].setdefault(record.depth, []).append(record)
    if not any(answered.values()):
        raise InputError("there is no latency to draw: no turn was answered")
    measures: list[tuple[str, Measure]] = [("latency", "latency")]
    every = (r for by_depth in answered.values() for rs in by_depth.values() for r in rs)
    if any(read_measure(record, "ttft") is not None for record in every):
        measures.append(("time to first token", "ttft"))
    labels = [look.label for look in answered] if len(answered) > 1 else []
    labels += ["median", "95th percentile"]
    made = frame(len(measures), width=width, entries=labels)
    few = [_draw_waits(axes, answered, *measure) for axes, measure in zip(made.panels, measures, strict=True)]
    draw_counts(made, {look: {d: len(rs) for d, rs in by.items()} for look, by in answered.items()})
    made.counts[0].set_ylabel("answered")

    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=o.colour, marker=o.marker, linestyle="") for o in answered]
    handles = handles if len(answered) > 1 else []
    handles += [Line2D([], [], color=GREY, linestyle=dashes) for dashes in ("-", "--")]
    draw_legend(made, handles, labels)
    note_few(made, any(few))
    return made.figure


def _draw_waits(axes: Axes, answered: Waits, name: str, measure: Measure) -> bool:
    """Draw one measure; returns whether a point rests on few conversations."""
    waits = {
        look: {depth: found for depth, rs in sorted(by.items()) if (found := _known_waits(rs, measure))}
        for look, by in answered.items()
    }
    every = [wait for by in waits.values() for values in by.values() for wait in values]
    in_ms = max(every) < 1
    few = False
    for look, by in waits.items():
        depths = list(by)
        for share, dashes in ((0.5, "-"), (0.95, "--")):
            shown = [(1000 if in_ms else 1) * float(np.quantile(by[depth], share)) for depth in depths]
            axes.plot(depths, shown, color=look.colour, linestyle=dashes)
            played = [{r.recorded_conversation for r in answered[look][depth]} for depth in depths]
            conversations = [len(each) for each in played]
            few |= any(count < FEW_CONVERSATIONS for count in conversations)
            axes.scatter(depths, shown, **look.markers(conversations))
    if min(every) > 0 and max(every) / min(every) > LOG_FROM:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(f"{name} ({'ms' if in_ms else 's'})")
    return few


def _known_waits(records: Sequence[TurnRecord], measure: Measure) -> list[float]:
    return [wait for record in records if (wait := read_measure(record, measure)) is not None]


CELL_IN: dict[Width, float] = {"column": 0.42, "page": 0.5}


def agreement_figure(
    runs: Sequence[PlottedRun], metrics: Sequence[str], width: Width, *, resamples: int, seed: int
) -> Figure:
    """
    Return a figure of two scores against each other, or a matrix of Spearman's coefficients of more.

    Of all scores that are means of turns if *metrics* is empty.

    Raises:
        InputError: there is more than one run, a score is missing or no mean, or there are fewer than two.
    """
    if len(runs) != 1:
        raise InputError(f"agreement is drawn for one run at a time, not for {len(runs)}")
    (run,) = runs
    if metrics:
        chosen_metrics(runs, metrics)
    means = [name for name, column in run.scored.scores.items() if column.is_mean]
    names = list(dict.fromkeys(metrics)) or means
    for name in names:
        if name not in means:
            raise InputError(f"{name} has no value for a single turn, so it can't be held against another")
    if len(names) < 2:
        raise InputError("agreement takes two scores or more; `replay score` adds one, or has a judge look")
    if len(names) == 2:
        return _scatter(run, names[0], names[1], width, resamples, seed)
    return _matrix(run, names, width)


def _values(run: PlottedRun, names: Sequence[str]) -> tuple[list[list[float]], list[str]]:
    """Return the turns that have all of *names*: their values by name, and their conversations."""
    columns = [run.scored.scores[name] for name in names]
    places = [
        place
        for place, record in enumerate(run.scored.records)
        if group_of(record) in run.groups and all(column.is_scored(place) for column in columns)
    ]
    values = [[float(column.observed[place]) for place in places] for column in columns]
    return values, [run.scored.records[place].recorded_conversation for place in places]


def _scatter(run: PlottedRun, one: str, other: str, width: Width, resamples: int, seed: int) -> Figure:
    (x, y), conversations = _values(run, [one, other])
    if not x:
        raise InputError(f"there is nothing to draw: no turn has both {one} and {other}")
    found = correlations(x, y, clusters=conversations, resamples=resamples, seed=seed)
    figure = new_figure(WIDTHS_IN[width], 3.0 if width == "column" else 4.0)
    axes = figure.subplots()
    # Scores have few values and many turns each: the area of a mark says how many.
    counts = Counter(zip(x, y, strict=True))
    most = max(counts.values())
    areas = [6 + 120 * times / most for times in counts.values()]
    points = list(counts)
    axes.scatter(
        [a for a, _ in points],
        [b for _, b in points],
        s=areas,
        color=COLOURS[1],
        alpha=0.45,
        edgecolors=COLOURS[0],
        linewidths=0.4,
    )
    axes.margins(0.09)
    axes.set_xlabel(plain(one))
    axes.set_ylabel(plain(other))
    said = "\n".join(_estimate_text(found[name], label) for name, label in _LABELS)
    axes.set_title(f"{said}\n{len(x):,} turns; area: turns with these values", fontsize=7, loc="left")
    return figure


_LABELS: tuple[tuple[CorrelationName, str], ...] = (("pearson", "Pearson"), ("spearman", "Spearman"))


def _estimate_text(one: NumberWithInterval, label: str) -> str:
    if isinstance(one.value, UndefinedNumber):
        return f"{label}: none, {one.value.reason}"
    ends = one.interval
    between = f" [{ends.low:.2f}, {ends.high:.2f}]" if isinstance(ends, Interval) else ""
    return f"{label} {one.value:.2f}{between}"


def _matrix(run: PlottedRun, names: Sequence[str], width: Width) -> Figure:
    import numpy as np

    cells = np.full((len(names), len(names)), np.nan)
    for row, one in enumerate(names):
        for column in range(row):
            (x, y), _ = _values(run, [one, names[column]])
            value = correlations(x, y, resamples=0)["spearman"].value
            if not isinstance(value, UndefinedNumber):
                cells[row, column] = value
    size = CELL_IN[width] * len(names)
    figure = new_figure(WIDTHS_IN[width], size + 1.0)
    axes = figure.subplots()
    axes.grid(visible=False)
    shown = cells[1:, :-1]
    image = axes.imshow(shown, cmap="PuOr", vmin=-1, vmax=1, aspect="auto")
    for row in range(len(shown)):
        for column in range(row + 1):
            value = shown[row, column]
            ink = "white" if abs(value) > 0.6 else "black"
            text = "none" if np.isnan(value) else f"{value:.2f}".replace("0.", ".", 1)
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)
    labels = [plain(name) for name in names]
    axes.set_xticks(range(len(shown)), labels[:-1], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(shown)), labels[1:])
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=12)
    bar.set_label("Spearman, turn by turn")
    bar.outline.set_visible(False)
    return figure
