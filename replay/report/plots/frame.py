"""
The frame of pictures by depth: panels above each other or side by side, turns as a histogram below.

The histogram keeps anyone from reading much into the deepest turns, of which there are few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replay.report.plots.drawing import GREY, WIDTHS_IN, Width, new_figure
from replay.report.plots.plotted import Look

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS: dict[Width, int] = {"column": 1, "page": 3}
"""Panels side by side at most."""
EVERY_DEPTH = 12
"""Up to so many depths, each has its number on the axis."""
PANEL_IN, COUNTS_IN, LEGEND_ROW_IN = 1.55, 0.75, 0.16
LEGEND_CHARACTERS: dict[Width, int] = {"column": 52, "page": 116}
"""What fits into a row of the legend."""

HANDLE_CHARACTERS = 7
"""What an entry takes beside its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotFrame:
    """A figure with a panel for each number and the turns below."""

    figure: Figure
    panels: Sequence[Axes]
    counts: Sequence[Axes]
    width: Width


def frame(panels: int, *, width: Width, entries: Sequence[str]) -> PlotFrame:
    """A frame for *panels* panels and a legend of *entries*."""
    across = min(ACROSS[width], panels)
    down = math.ceil(panels / across)
    legend_rows = math.ceil(len(entries) / _legend_columns(entries, width))
    height = down * PANEL_IN + COUNTS_IN + LEGEND_ROW_IN * legend_rows + 0.15
    figure = new_figure(WIDTHS_IN[width], height)
    grid = figure.subplots(
        down + 1,
        across,
        squeeze=False,
        sharex=True,
        gridspec_kw={"height_ratios": [PANEL_IN] * down + [COUNTS_IN]},
    )
    spots = grid[:down].flatten().tolist()
    for empty in spots[panels:]:
        empty.set_axis_off()
    counts = grid[down].tolist()
    for below in counts:
        below.set_xlabel("depth")
        below.grid(visible=False)
        below.xaxis.get_major_locator().set_params(integer=True)
    counts[0].set_ylabel("turns")
    return PlotFrame(figure=figure, panels=spots[:panels], counts=counts, width=width)


def draw_counts(made: PlotFrame, counts: Mapping[Look, Mapping[int, int]]) -> None:
    """Bars for the most turns that any group has at a depth; where groups differ, a mark for each."""
    depths = sorted({depth for each in counts.values() for depth in each})
    most = [max(each.get(depth, 0) for each in counts.values()) for depth in depths]
    shapes = {tuple(each.get(depth, 0) for depth in depths) for each in counts.values()}
    if len(depths) <= EVERY_DEPTH:
        made.counts[0].set_xticks(depths)
    for axes in made.counts:
        axes.bar(depths, most, width=0.72, color="#d0d0d0")
        axes.set_ylim(bottom=0)
        if len(shapes) == 1:
            continue
        for place, (look, each) in enumerate(counts.items()):
            at = [depth + dodge(place, len(counts)) for depth in depths]
            axes.scatter(at, [each.get(d, 0) for d in depths], s=5, color=look.colour, marker=look.marker)


def dodge(place: int, of: int) -> float:
    """Return how far the *place*-th *of* several marks at one depth stands beside it."""
    return 0.0 if of == 1 else (place / (of - 1) - 0.5) * min(0.6, 0.14 * of)


def draw_legend(made: PlotFrame, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Above all panels, in as many columns as fit; nothing for one line that needs no name."""
    if len(labels) > 1:
        columns = _legend_columns(labels, made.width)
        shown = [_shorten(label, LEGEND_CHARACTERS[made.width] - HANDLE_CHARACTERS) for label in labels]
        made.figure.legend(handles, shown, loc="outside upper center", ncols=columns, columnspacing=1.2)


def note_few(made: PlotFrame, few: bool) -> None:
    """Say what hollow marks mean, where there are any."""
    if few:
        for below in made.counts:
            below.set_xlabel("depth (hollow: fewer than 5 conversations)", color="black")


def zero_line(axes: Axes) -> None:
    axes.axhline(0, color=GREY, linewidth=0.8, zorder=1)


def _legend_columns(labels: Sequence[str], width: Width) -> int:
    longest = max(map(len, labels), default=0) + HANDLE_CHARACTERS
    return max(1, min(len(labels), LEGEND_CHARACTERS[width] // longest))


def _shorten(label: str, room: int) -> str:
    """*label* without its middle, where it is longer than *room*: names differ at their ends."""
    if len(label) <= room:
        return label
    kept = room - 3
    return f"{label[: kept - kept // 2]}...{label[len(label) - kept // 2 :]}"
