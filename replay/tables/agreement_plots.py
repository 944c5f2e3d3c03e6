"""
Four pictures of an agreement: scatter, absolute differences, both distributions, correlations.

matplotlib is loaded here only, and used without its global state, so that nothing of the caller's
changes. The same study gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.core.errors import InputError, writing
from replay.report.plots.drawing import COLOURS, check_can_draw, new_figure, plain
from replay.statistics.correlation import COEFFICIENTS
from replay.statistics.interval import Interval, UndefinedNumber
from replay.tables.agreement_study import AgreementStudy, ScoreAgreement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
ACROSS = 3
"""Panels side by side."""
_COLOURS = (COLOURS[1], COLOURS[5], COLOURS[3])


def draw_plots(study: AgreementStudy, folder: Path) -> list[Path]:
    """
    Draw the four plots into *folder*, each as PNG and SVG, a panel for each score; returns the files.

    Raises:
        PluginError: matplotlib is not installed.
        InputError: the folder can't be written.
    """
    check_can_draw()
    shown = [one for one in study.agreements if one.scores]
    if not shown:
        raise InputError("there is nothing to draw: no item has both a score and a rating")
    figures = {
        "scatter": _panels(shown, _scatter),
        "differences": _panels(shown, _differences),
        "distributions": _panels(shown, _distributions),
        "correlations": _correlation_bars(shown),
    }
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [
            _save(figure, folder / f"{name}.{kind}") for name, figure in figures.items() for kind in FORMATS
        ]


def _save(figure: Figure, path: Path) -> Path:
    import matplotlib

    # Without these an SVG holds random ids and the time of day.
    metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "convreplay", "svg.fonttype": "path"}):
        figure.savefig(path, format=path.suffix[1:], dpi=120, metadata=metadata)
    return path


def _panels(agreements: Sequence[ScoreAgreement], draw: Callable[[Axes, ScoreAgreement], None]) -> Figure:
    across = min(ACROSS, len(agreements))
    down = math.ceil(len(agreements) / across)
    figure = new_figure(4.2 * across, 3.6 * down)
    panels = figure.subplots(down, across, squeeze=False).flatten().tolist()
    for panel, one in zip(panels, agreements, strict=False):
        draw(panel, one)
        panel.set_title(plain(one.label), fontsize=10)
    for panel in panels[len(agreements) :]:
        panel.set_axis_off()
    return figure


def _scatter(panel: Axes, one: ScoreAgreement) -> None:
    panel.scatter(one.ratings, one.scores, s=14, alpha=0.4, color=_COLOURS[0], edgecolors="none")
    pearson = one.correlations["pearson"].value
    # Beside the axis, since points can lie anywhere within.
    shown = "" if isinstance(pearson, UndefinedNumber) else f" (r = {pearson:.3f})"
    panel.set_xlabel(f"people{shown}")
    panel.set_ylabel("score")


def _differences(panel: Axes, one: ScoreAgreement) -> None:
    panel.hist(one.differences, bins=20, color=_COLOURS[0])
    middle = sum(one.differences) / len(one.differences)
    panel.axvline(middle, color="black", linestyle="--", linewidth=1)
    panel.set_xlabel(f"|score - people|, mean {middle:.3g}")
    panel.set_ylabel("items")


def _distributions(panel: Axes, one: ScoreAgreement) -> None:
    ends = min(*one.scores, *one.ratings), max(*one.scores, *one.ratings)
    if ends[0] == ends[1]:
        ends = ends[0] - 0.5, ends[1] + 0.5
    for values, name, colour in ((one.scores, "score", _COLOURS[0]), (one.ratings, "people", _COLOURS[1])):
        panel.hist(values, bins=20, range=ends, alpha=0.55, color=colour, label=name)
    panel.set_ylabel("items")
    panel.legend(fontsize=8)


def _correlation_bars(agreements: Sequence[ScoreAgreement]) -> Figure:
    figure = new_figure(max(5.0, 1.6 * len(agreements) + 2), 4.0)
    panel = figure.subplots()
    width = 0.8 / len(COEFFICIENTS)
    for place, (name, colour) in enumerate(zip(COEFFICIENTS, _COLOURS, strict=True)):
        for position, one in enumerate(agreements):
            found = one.correlations[name]
            if isinstance(found.value, UndefinedNumber):
                continue
            at = position + (place - 1) * width
            label = name if not any(name == text.get_label() for text in panel.containers) else None
            panel.bar(at, found.value, width, color=colour, label=label)
            if isinstance(found.interval, Interval):
                panel.vlines(at, found.interval.low, found.interval.high, color="black", linewidth=1)
    panel.axhline(0, color="black", linewidth=0.8)
    panel.set_xticks(
        range(len(agreements)), [plain(one.label) for one in agreements], rotation=20, fontsize=8
    )
    panel.set_ylabel("correlation with people")
    if panel.containers:
        panel.legend(fontsize=8)
    return figure
