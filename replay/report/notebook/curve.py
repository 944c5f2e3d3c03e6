"""
A number over turn depth as inline SVG: a curve for each system and policy, its intervals as a band.

The same on light and on dark ground: lines are of middle brightness, at least 3 to 1 against either, and the
rest is the surrounding text's colour. Curves differ in their dashes too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from replay.report.columns import IntervalValue, column_head, score_cells
from replay.report.curves import Style, group_label, stretches, styles, tick_step, to_percent
from replay.report.notebook.html_parts import text
from replay.scorers.scorer import SHARE
from replay.statistics.group import Group

WIDTH, HEIGHT = 330, 190
LEFT, RIGHT, TOP, BOTTOM = 42, 10, 24, 32
_COLORS = ("currentColor", "#d55e00", "#1a80c4", "#009e73", "#b8578f", "#b87d00", "#3a9bd6", "#777777")
_DASHES = {"dash": "6 3", "dot": "2 2", "dashdot": "6 2 2 2", "longdash": "10 3", "longdashdot": "10 2 2 2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The number at one depth, from 1."""

    depth: int
    found: IntervalValue
    turns: int
    few: bool = False
    """Of few conversations: drawn hollow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFrame:
    """Where numbers lie on the drawing."""

    deepest: int
    ticks: Sequence[float]
    """Of the numbers' axis, as they are written; the lowest is its beginning, the highest its end."""

    def x(self, depth: float) -> float:
        share = (depth - 1) / (self.deepest - 1) if self.deepest > 1 else 0.5
        return round(LEFT + 8 + share * (WIDTH - LEFT - RIGHT - 16), 1)

    def y(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return round(TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)


def curves(title: str, unit: str, by_group: Mapping[Group, Sequence[Point]]) -> str:
    """One drawing of what is called *title* and counts in *unit*; empty where no depth has a number."""
    known = [p for points in by_group.values() for p in points if p.found.value is not None]
    if not known:
        return ""
    ends = [to_percent(v, unit) for p in known for v in (p.found.value, p.found.low, p.found.high)]
    frame = CurveFrame(
        deepest=max(point.depth for point in known), ticks=ticks([v for v in ends if v is not None])
    )
    looks = styles(list(by_group))
    name = f"{title} (%)" if unit == SHARE else column_head(title, unit)
    shown = [
        *_axes(frame),
        *(part for group, points in by_group.items() for part in _band(points, unit, looks[group], frame)),
        *(
            part
            for group, points in by_group.items()
            for part in _curve(group_label(group, by_group), points, unit, looks[group], frame)
        ),
    ]
    label = f"{name} by turn depth, 1 to {frame.deepest}: a curve for each system and policy"
    return (
        f'<svg role="img" aria-label="{text(label)}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><text x="{LEFT}" y="13" font-weight="bold">{text(name)}</text>\n'
        + "\n".join(shown)
        + "</svg>"
    )


def legend(groups: Sequence[Group]) -> str:
    """Which line is whose."""
    looks = styles(groups)
    items = [
        f'<li><svg aria-hidden="true" width="34" height="10"><line x1="1" y1="5" x2="33" y2="5" '
        f"{_stroke(looks[group])}/></svg>{text(group_label(group, groups))}</li>"
        for group in groups
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


def ticks(values: Sequence[float]) -> list[float]:
    """Two to seven round numbers, evenly apart, that have *values* between them."""
    low, high = min(values), max(values)
    room = (high - low) or abs(high) or 1.0
    size = 10.0 ** math.floor(math.log10(room / 5))
    step = next(step for step in (size, 2 * size, 5 * size, 10 * size) if room / step <= 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    # Not from the lowest on by addition, whose errors would be written out.
    return [float(f"{n * step:.12g}") for n in range(first, max(last, first + 1) + 1)]


def _axes(frame: CurveFrame) -> Iterator[str]:
    for value in frame.ticks:
        y, opacity = frame.y(value), 0.15 if value or value == frame.ticks[0] else 0.5
        yield (
            f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="currentColor" '
            f'opacity="{opacity}"/>'
        )
        yield f'<text x="{LEFT - 5}" y="{y + 4}" text-anchor="end">{value:g}</text>'
    step = tick_step(frame.deepest * 3)  # a third of the width that the steps are made for
    for depth in sorted({1, *range(step, frame.deepest + 1, step)}):
        yield f'<text x="{frame.x(depth)}" y="{HEIGHT - 17}" text-anchor="middle">{depth}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 3}" text-anchor="middle">turn depth</text>'


def _band(points: Sequence[Point], unit: str, look: Style, frame: CurveFrame) -> Iterator[str]:
    low = [to_percent(point.found.low, unit) for point in points]
    high = [to_percent(point.found.high, unit) for point in points]
    for places in stretches(low, high):
        ends = [(i, high[i] or 0) for i in places] + [(i, low[i] or 0) for i in reversed(places)]
        drawn = " ".join(f"{frame.x(points[i].depth)},{frame.y(value)}" for i, value in ends)
        color = _COLORS[look.number]
        # A depth alone makes an area without width, of which the outline is seen.
        line = f'stroke="{color}" stroke-width="3" ' if len(places) == 1 else ""
        yield f'<polygon points="{drawn}" fill="{color}" {line}opacity=".13"/>'


def _curve(label: str, points: Sequence[Point], unit: str, look: Style, frame: CurveFrame) -> Iterator[str]:
    values = [to_percent(point.found.value, unit) for point in points]
    for places in stretches(values, values):
        drawn = " ".join(f"{frame.x(points[i].depth)},{frame.y(values[i] or 0)}" for i in places)
        yield f'<polyline points="{drawn}" fill="none" {_stroke(look)}/>'
    for point, value in zip(points, values, strict=True):
        if value is not None:
            (number,) = score_cells([point.found], percent=unit == SHARE, whole=False)
            fill = "none" if point.few else _COLORS[look.number]
            yield (
                f'<circle cx="{frame.x(point.depth)}" cy="{frame.y(value)}" r="3" fill="{fill}" '
                f'stroke="{_COLORS[look.number]}"><title>{text(label)}, depth {point.depth}: {text(number)}, '
                f"{point.turns:,} turns</title></circle>"
            )


def _stroke(look: Style) -> str:
    dash = f' stroke-dasharray="{_DASHES[look.dash]}"' if look.dash in _DASHES else ""
    return f'stroke="{_COLORS[look.number]}" stroke-width="2"{dash}'
