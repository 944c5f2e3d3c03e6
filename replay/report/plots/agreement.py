"""
``agreement``: how far a run's own scores agree, turn by turn: a judge with word overlap, one judge with
another.

Agreement with people is another question, and ``replay agree --plots`` draws it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from replay.core.errors import InputError
from replay.report.plots.drawing import (
    COLOURS,
    WIDTHS_IN,
    PlottedRun,
    Width,
    chosen_metrics,
    new_figure,
    plain,
)
from replay.statistics.estimate import NumberWithInterval
from replay.statistics.group import group_of
from replay.statistics.interval import Interval, UndefinedNumber
from replay.statistics.model_agreement import CorrelationName, correlations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
