"""
A chart as a page needs it: a figure and a table for each choice of the metric switch.

Plotly figures are plain values. A colour is written as ``--c3``, or ``--c3/0.14`` with an opacity: the page
puts in what that is in its light or dark theme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from replay.report.columns import IntervalValue
from replay.report.curves import Style, group_label, stretches, to_percent
from replay.scorers.scorer import SHARE
from replay.statistics.group import Group
from replay.viewer.numbers import NONE, duration, number
from replay.web.pages import visible

Trace = dict[str, Any]
Figure = dict[str, Any]


def plain(text: str) -> str:
    """*text* so that Plotly, which reads some HTML in its labels, shows it as it is."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def meta(group: Group) -> dict[str, str]:
    """What a page's switches look for in a trace."""
    return {"system": visible(group.system), "policy": visible(group.policy)}


def line(
    group: Group, name: str, style: Style, x: Sequence[Any], y: Sequence[float | None], **more: Any
) -> Trace:
    """One curve."""
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
    """The intervals around a curve; interrupted where some are missing."""
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
    """The curve of one of *groups* over its intervals; *texts* are shown at its points."""
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
    """What is shown at a point of the curve called *name*."""
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
    """The frame that all charts share. *short*: ``200µs``, after Plotly's prefixes."""
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
    """Value, low and high."""
    return tuple(
        value_cell(v, lambda v: number(v, unit, signed=signed)) for v in (one.value, one.low, one.high)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """A table's row; a switch hides it when its group is off."""

    cells: tuple[Cell, ...]
    group: Group | None = None


def depth_row(group: Group, depth: int | None, *cells: Cell) -> ChartRow:
    """A row that begins with system, policy and depth."""
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
    """One for each of several *metrics*, and of *groups*' systems and policies."""
    return Switches(
        metrics=list(dict.fromkeys(metrics)),
        systems=list(dict.fromkeys(group.system for group in groups)),
        policies=list(dict.fromkeys(group.policy for group in groups)),
    )
