"""
What all pictures share: sizes, fonts, colours, and files that are the same for the same numbers.

matplotlib is used without its global state, so that nothing of the caller's changes. The colours are
those of Okabe & Ito (*Color Universal Design*, 2008), which colour-blind people tell apart, without the
yellow that hardly shows on white; lines differ in dashes and markers as well, for prints without colour.

Pictures by depth have panels above each other or side by side, and turns as a histogram below, which keeps
anyone from reading much into the deepest turns, of which there are few.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from replay.core.errors import InputError, writing
from replay.core.extras import extra_module
from replay.core.settings.faults import nearest
from replay.statistics.depth_table import FEW_CONVERSATIONS, GroupTable
from replay.statistics.group import Group, select_groups
from replay.statistics.run_comparison import ScoredRun
from replay.statistics.run_numbers import Report

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class PlottedRun:
    """A run with its numbers, and the groups of it that are to be shown."""

    scored: ScoredRun
    report: Report
    groups: tuple[Group, ...]

    def tables(self) -> list[GroupTable]:
        """Return the depth tables of the groups shown, in their order."""
        return [table for table in self.report.table.groups if table.group in self.groups]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a group is drawn."""

    label: str
    colour: str
    dashes: str
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of a line."""
        return {"color": self.colour, "linestyle": self.dashes, "marker": self.marker}

    def markers(self, conversations: Sequence[int]) -> dict[str, Any]:
        """Return the arguments of markers without a line, hollow where a point rests on few conversations."""
        few = [count < FEW_CONVERSATIONS for count in conversations]
        return {
            "marker": self.marker,
            "s": 12,
            "linewidths": 0.9,
            "edgecolors": self.colour,
            "facecolors": ["white" if hollow else self.colour for hollow in few],
            "zorder": 3,
        }


def choose(
    runs: Sequence[tuple[ScoredRun, Report]], systems: Collection[str], policies: Collection[str]
) -> list[PlottedRun]:
    """
    Return the groups of *systems* and *policies* in each of *runs*; of all where none are named.

    Raises:
        InputError: a run has no record, or no group of that name.
    """
    chosen = []
    for scored, report in runs:
        if not scored.groups():
            raise InputError(f"{scored.name}: no turn has been asked yet, so there is nothing to draw")
        groups = select_groups(scored.groups(), systems, policies)
        if not groups:
            raise InputError(f"{scored.name}: no system was played under that policy")
        chosen.append(PlottedRun(scored=scored, report=report, groups=tuple(groups)))
    return chosen


def looks(runs: Sequence[PlottedRun]) -> dict[tuple[int, Group], Look]:
    """
    Return a look for each group of each run, by the run's place.

    Where both policies and systems (or runs) differ, colour tells policies and dashes and markers the rest;
    otherwise all three tell what differs.
    """
    keys = [(place, group) for place, run in enumerate(runs) for group in run.groups]
    sources = list(dict.fromkeys((place, group.system) for place, group in keys))
    policies = list(dict.fromkeys(group.policy for _, group in keys))
    found = {}
    for place, group in keys:
        source, policy = sources.index((place, group.system)), policies.index(group.policy)
        colour, dashes = policy, source
        if len(policies) == 1:
            colour = source
        elif len(sources) == 1:
            dashes = policy
        found[place, group] = Look(
            label=plain(_label(runs, place, group, len(policies))),
            colour=COLOURS[colour % len(COLOURS)],
            dashes=DASHES[dashes % len(DASHES)],
            marker=MARKERS[dashes % len(MARKERS)],
        )
    return found


def _label(runs: Sequence[PlottedRun], place: int, group: Group, policies: int) -> str:
    systems = {(one.system) for run in runs for one in run.groups}
    parts = [runs[place].scored.name] if len(runs) > 1 else []
    parts += [group.system] if len(systems) > 1 else []
    parts += [group.policy] if policies > 1 or not parts else []
    return ", ".join(parts)


def chosen_metrics(runs: Sequence[PlottedRun], metrics: Sequence[str]) -> list[str]:
    """
    Return *metrics*, or ``f1`` where every run has it and else the first score that all have.

    Raises:
        InputError: a run lacks one, or they have none in common.
    """
    for run in runs:
        known = run.report.table.columns
        for name in metrics:
            if name not in known:
                raise InputError(
                    f'{run.scored.name} has no score "{name}"{nearest(name, known)} '
                    f"(known: {', '.join(known) or 'none'}); `replay score` adds one"
                )
    if metrics:
        return list(dict.fromkeys(metrics))
    common = [n for n in runs[0].report.table.columns if all(n in r.report.table.columns for r in runs)]
    if not common:
        raise InputError("there is no score to draw that every run has; `replay score` adds one")
    return ["f1"] if "f1" in common else common[:1]


Width = Literal["column", "page"]
WIDTHS_IN: dict[Width, float] = {"column": 3.3, "page": 7.0}
"""A column of a two-column paper, and both."""
FORMATS = ("pdf", "svg", "png")
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#999999"

_STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e0e0e0",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.4,
    # Type 42 embeds the fonts themselves; many journals refuse the default, type 3.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "convreplay",
}


def check_can_draw() -> None:
    """
    Check that pictures can be drawn.

    Raises:
        PluginError: matplotlib is not installed.
    """
    extra_module("matplotlib", "plots", "drawing")


def style() -> AbstractContextManager[None]:
    """Return a context in which figures are made in our style."""
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def new_figure(width_in: float, height_in: float) -> Figure:
    """Return an empty figure, without matplotlib's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def format_of(path: Path) -> str:
    """
    Return the file format that *path* ends in, such as ``svg``.

    Raises:
        InputError: pictures can't be written in that format.
    """
    kind = path.suffix[1:].lower()
    if kind not in FORMATS:
        raise InputError(f'"{path}" should end in .{", .".join(FORMATS[:-1])} or .{FORMATS[-1]}')
    return kind


def save(figure: Figure, path: Path) -> list[str]:
    """
    Write *figure* to *path*; returns what a reader should be told, such as characters that have no glyph.

    The same figure gives the same bytes: no time, no random id.

    Raises:
        InputError: *path* can't be written.
    """
    kind = format_of(path)
    metadata: dict[str, dict[str, Any]] = {
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "svg": {"Date": None, "Creator": None},
        "png": {"Software": None},
    }
    with warnings.catch_warnings(record=True) as caught, style(), writing(path):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ResourceWarning)  # of whatever is collected meanwhile
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format=kind, dpi=300, metadata=metadata[kind])
    said = dict.fromkeys(str(one.message) for one in caught)
    if any("missing from" in text for text in said):
        return ["some characters of the names have no glyph in DejaVu Sans and are drawn as boxes"]
    return list(said)


def plain(text: str) -> str:
    """
    Return *text* as it is: a dollar sign would begin a formula, and a leading ``_`` hides it from a legend.
    """
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


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
    """Return a frame for *panels* panels and a legend of *entries*."""
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
    """Draw bars for the most turns that any group has at a depth; where groups differ, a mark for each."""
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
    """Draw the legend above all panels, in as many columns as fit; none for a single line."""
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
    """Return *label* without its middle, where it is longer than *room*: names differ at their ends."""
    if len(label) <= room:
        return label
    kept = room - 3
    return f"{label[: kept - kept // 2]}...{label[len(label) - kept // 2 :]}"
