"""Charts as plain values: Plotly figures with their headings, and the tables of the numbers behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any, NamedTuple

from replay.core.terminal import visible
from replay.report.numbers import NONE, duration, number
from replay.report.printing import IntervalValue
from replay.scorers.scorer import SHARE
from replay.statistics.group import Group

_BY_POLICY = {"gold": 0, "pred": 1, "rewrite": 2, "replace": 3, "augment": 4, "filter": 5}
_DASHES = ("solid", "dash", "solid", "dashdot", "longdash", "dot", "longdashdot", "solid")
_SYSTEM_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "x", "star", "pentagon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one group is drawn, everywhere."""

    color: str
    dash: str
    marker: str

    @property
    def number(self) -> int:
        """The colour's place in the palette, for a page's own marks."""
        return int(self.color.removeprefix("--c"))


def styles(groups: Sequence[Group]) -> dict[Group, Style]:
    """Return colours and markers by policy; dashes by policy too, or by system where there are several."""
    systems = list(dict.fromkeys(group.system for group in groups))
    taken = {group.policy for group in groups if group.policy in _BY_POLICY}
    free = iter([n for n in range(8) if n not in {_BY_POLICY[p] for p in taken}] * (len(groups) + 1))
    places = {p: _BY_POLICY[p] if p in _BY_POLICY else next(free, 7) for p in _policies(groups)}
    found = {}
    for group in groups:
        place = places[group.policy]
        dash = _DASHES[place] if len(systems) == 1 else _SYSTEM_DASHES[systems.index(group.system) % 6]
        found[group] = Style(color=f"--c{place}", dash=dash, marker=_MARKERS[place])
    return found


def _policies(groups: Iterable[Group]) -> list[str]:
    return list(dict.fromkeys(group.policy for group in groups))


def group_label(group: Group, groups: Iterable[Group]) -> str:
    """Return the group's label: the policy alone if there is only one system."""
    return group.policy if len({one.system for one in groups}) == 1 else f"{group.system}, {group.policy}"


def to_percent(value: float | None, unit: str) -> float | None:
    """Return *value* in per cent if its *unit* is ``share``, else as it is."""
    return None if value is None else round(100 * value, 6) if unit == SHARE else value


def stretches(low: Sequence[float | None], high: Sequence[float | None]) -> list[list[int]]:
    """Return the runs of neighbouring indexes at which both ends are known."""
    found: list[list[int]] = []
    for i, ends in enumerate(zip(low, high, strict=True)):
        if None in ends:
            continue
        if found and found[-1][-1] == i - 1:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def tick_step(count: int) -> int:
    """Return a distance between depths on an axis that leaves room for the numbers."""
    return next((step for step in (1, 2, 5, 10, 20, 50, 100) if count / step <= 24), 200)


Trace = dict[str, Any]
Figure = dict[str, Any]


def plain(text: str) -> str:
    """Return *text* so that Plotly, which reads some HTML in its labels, shows it as it is."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def meta(group: Group) -> dict[str, str]:
    """Return the metadata of a trace, by which a page's switches find it."""
    return {"system": visible(group.system), "policy": visible(group.policy)}


def line(
    group: Group, name: str, style: Style, x: Sequence[Any], y: Sequence[float | None], **more: Any
) -> Trace:
    """Return one curve."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(name),
        "x": list(x),
        "y": list(y),
        "line": {"color": style.color, "dash": style.dash, "width": 2},
        "marker": {"color": style.color, "symbol": style.marker, "size": 7},
        "legendgroup": plain(str(group)),
        "meta": meta(group),
        **more,
    }


def band(
    group: Group,
    style: Style,
    x: Sequence[float],
    low: Sequence[float | None],
    high: Sequence[float | None],
) -> Trace:
    """Return the intervals around a curve; interrupted where some are missing."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for some in stretches(low, high):
        if len(some) == 1:
            (i,) = some
            sides, ends = [x[i] - 0.1, x[i] + 0.1], [i, i]
        else:
            sides, ends = [x[i] for i in some], some
        if xs:
            xs.append(None)
            ys.append(None)
        xs += [*sides, *reversed(sides), sides[0]]
        ys += [*(low[i] for i in ends), *(high[i] for i in reversed(ends)), low[ends[0]]]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "fill": "toself",
        "fillcolor": f"{style.color}/0.14",
        "line": {"width": 0, "color": style.color},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": plain(str(group)),
        "meta": {**meta(group), "band": True},
    }


def with_bands_note(note: str, curves: int) -> str:
    """Return *note*, with how to see the bands of more than two *curves*, which would hide each other."""
    return f"{note} Point at a curve to see its band." if curves > 2 else note


def curve_with_band(
    group: Group,
    groups: Sequence[Group],
    style: Style,
    depths: Sequence[int],
    found: Sequence[IntervalValue],
    unit: str,
    texts: Sequence[str],
) -> list[Trace]:
    """Return the curve of one of *groups* over its intervals; *texts* are shown at its points."""
    label = group_label(group, groups)
    low, high = [to_percent(one.low, unit) for one in found], [to_percent(one.high, unit) for one in found]
    curve = line(
        group,
        label,
        style,
        depths,
        [to_percent(one.value, unit) for one in found],
        text=list(texts),
        hovertemplate=hover(label),
    )
    return [band(group, style, depths, low, high), curve]


def hover(name: str, value: str = "%{text}") -> str:
    """Return Plotly's hover template for a point of the curve called *name*."""
    return f"{plain(name)}: {value}<extra></extra>"


def log_ticks(values: Sequence[float | None]) -> dict[str, Any]:
    """
    Return a logarithmic axis of durations with a unit on each number; Plotly's own labels are bare digits.

    Args:
        values: What is drawn, in seconds; 0 and None have no place on such an axis.
    """
    known = [value for value in values if value]
    low, high = floor(log10(min(known, default=1))), ceil(log10(max(known, default=1)))
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    return {"type": "log", "tickvals": ticks, "ticktext": [duration(tick) for tick in ticks]}


def layout(
    *,
    x: str,
    y: str,
    unit: str = "",
    height: int = 420,
    whole_x: bool = True,
    short: bool = False,
    from_zero: bool = False,
) -> dict[str, Any]:
    """Return the frame that all charts share. *short*: ``200µs``, after Plotly's prefixes."""
    suffix = " %" if unit == SHARE else unit if short else f" {unit}" if unit in ("s", "ms") else ""
    return {
        "height": height,
        "margin": {"l": 64, "r": 16, "t": 12, "b": 48},
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": {"title": {"text": plain(x)}, "zeroline": False, **({"dtick": 1} if whole_x else {})},
        "yaxis": {
            "title": {"text": plain(y), "standoff": 12},
            "automargin": True,
            "zeroline": False,
            "ticksuffix": suffix,
            "hoverformat": ".4~g",
            **({"rangemode": "tozero"} if from_zero else {}),
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value of a table: as shown, and as it goes into a file."""

    shown: str
    exact: Any = None
    """A number, None for nothing known, or the text itself."""
    is_number: bool = True


def text_cell(text: str) -> Cell:
    return Cell(shown=text, exact=text, is_number=False)


def value_cell(value: Any, show: Callable[[Any], str]) -> Cell:
    return Cell(shown=NONE if value is None else show(value), exact=value)


def count_cell(count: int | None) -> Cell:
    return value_cell(count, "{:,}".format)


def score_cells(one: IntervalValue, unit: str, *, signed: bool = False) -> tuple[Cell, ...]:
    """Return the cells for value, low and high."""
    return tuple(
        value_cell(v, lambda v: number(v, unit, signed=signed)) for v in (one.value, one.low, one.high)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """A table's row; a switch hides it when its group is off."""

    cells: tuple[Cell, ...]
    group: Group | None = None


def depth_row(group: Group, depth: int | None, *cells: Cell) -> ChartRow:
    """Return a row that begins with system, policy and depth."""
    at = Cell(shown="all" if depth is None else str(depth), exact=depth or "all")
    return ChartRow(group=group, cells=(text_cell(group.system), text_cell(group.policy), at, *cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What a chart shows for one choice of the metric switch, and the numbers behind it."""

    traces: Sequence[Trace]
    layout: Mapping[str, Any]
    heads: tuple[str, ...]
    rows: Sequence[ChartRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure with its heading, its numbers, and what it says to somebody who can't see it."""

    id: str
    title: str
    note: str
    variants: Mapping[str, Variant]
    """By metric; one entry called ``""`` where the switch doesn't matter."""
    summary: str = ""

    @property
    def figures(self) -> dict[str, Figure]:
        return {name: {"data": one.traces, "layout": one.layout} for name, one in self.variants.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """What can be chosen on a page with charts."""

    metrics: Sequence[str]
    systems: Sequence[str]
    policies: Sequence[str]


def switches(metrics: Iterable[str], groups: Sequence[Group]) -> Switches:
    """Return the switches of a chart: one for each metric, system and policy."""
    return Switches(
        metrics=list(dict.fromkeys(metrics)),
        systems=list(dict.fromkeys(group.system for group in groups)),
        policies=list(dict.fromkeys(group.policy for group in groups)),
    )


class IntervalCurve(NamedTuple):
    """One group's numbers with their intervals: a curve, what is shown at its points, and rows of a table."""

    group: Group
    depths: Sequence[int]
    found: Sequence[IntervalValue]
    texts: Sequence[str]
    rows: Sequence[ChartRow]


def variant(
    curves: Sequence[IntervalCurve],
    unit: str,
    heads: tuple[str, ...],
    frame: Mapping[str, Any],
    *,
    groups: Sequence[Group] = (),
    looks: Mapping[Group, Style] | None = None,
    more: Sequence[Trace] = (),
) -> Variant:
    """Return *curves* in *unit* within a *frame*, then *more*; *groups* are all that the chart has."""
    groups = groups or [curve.group for curve in curves]
    looks = looks or styles(groups)
    traces: list[Trace] = []
    for one in curves:
        traces += curve_with_band(one.group, groups, looks[one.group], one.depths, one.found, unit, one.texts)
    rows = [row for one in curves for row in one.rows]
    return Variant(traces=[*traces, *more], layout=frame, heads=heads, rows=rows)


_PALETTE = ("#888888", "#d55e00", "#1a80c4", "#009e73", "#b8578f", "#b87d00", "#3a9bd6", "#777777")
"""For where no page says which colour is which: at least 3 to 1 against white and against black."""


def with_colors(title: str, figure: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return *figure* under *title* with colours for light and dark ground in the place of their names.

    Bands of more than two curves are left out: they would hide each other, and nothing shows one at a time.
    """
    bands = [trace for trace in figure["data"] if trace.get("meta", {}).get("band")]
    data = figure["data"] if len(bands) <= 2 else [one for one in figure["data"] if one not in bands]
    clear = "rgba(0,0,0,0)"
    layout = {
        "paper_bgcolor": clear,
        "plot_bgcolor": clear,
        "font": {"color": _PALETTE[0]},
        **figure["layout"],
        "height": figure["layout"]["height"] + 60,
        "margin": {**figure["layout"]["margin"], "t": 90},
        "title": {"text": plain(title), "font": {"size": 14}, "x": 0.01, "y": 0.98, "yanchor": "top"},
    }
    return {"data": _with_rgb(data), "layout": _with_rgb(layout)}


def _with_rgb(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_rgb(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_rgb(one) for one in value]
    if not isinstance(value, str) or not value.startswith("--c"):
        return value
    name, _, opacity = value.partition("/")
    red, green, blue = (int(_PALETTE[int(name[3:])][at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity or 1})"
