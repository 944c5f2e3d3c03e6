"""Two data sets side by side, drawn: which words ask, what leans on what was said, and how deep it goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from replay.report.drawing import COLOURS, DASHES, MARKERS, WIDTHS_IN, Width, new_figure, plain
from replay.synthesis.statistics.data_statistics import DataStatistics, Proportion
from replay.synthesis.statistics.question_kinds import QUESTION_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DEEPEST = 12


def data_figure(data: Sequence[DataStatistics], width: Width) -> Figure:
    """Return a figure of the question words' shares, the shares of kinds, and turns and leaning by depth."""
    across = width == "page"
    figure = new_figure(WIDTHS_IN[width], 2.6 if across else 6.6)
    panels = figure.subplots(1, 3) if across else figure.subplots(3, 1)
    asked = [word for word in QUESTION_WORDS if any(word in one.question_words for one in data)]
    _draw_bars(
        panels[0],
        "questions (%)",
        asked,
        [[100 * one.question_words.get(word, 0) / max(1, one.turns) for word in asked] for one in data],
    )
    _draw_bars(panels[1], "share (%)", _KINDS, [[_percent(found) for found in _kinds(one)] for one in data])
    _draw_depths(panels[2], data)
    figure.legend(
        *panels[2].get_legend_handles_labels(), loc="outside lower center", ncols=2 if across else 1
    )
    return figure


_KINDS = ("leaning", "anaphora", "ellipsis", "other passage", "yes/no", "unanswerable", "duplicates")


def _kinds(data: DataStatistics) -> Sequence[Proportion | None]:
    return (
        data.leaning, data.anaphora, data.ellipsis, data.topic_shifts, data.yes_no, data.unanswerable,
        data.duplicates,
    )  # fmt: skip


def _percent(found: Proportion | None) -> float:
    return 100 * (found.share or 0.0) if found else 0.0


def _draw_bars(axes: Axes, label: str, names: Sequence[str], shares: Sequence[Sequence[float]]) -> None:
    thickness = 0.8 / len(shares)
    for number, values in enumerate(shares):
        places = [at - 0.4 + (number + 0.5) * thickness for at in range(len(names))]
        axes.barh(places, values, height=thickness, color=COLOURS[number % len(COLOURS)])
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(label)


def _draw_depths(axes: Axes, data: Sequence[DataStatistics]) -> None:
    from matplotlib.ticker import MaxNLocator

    for number, one in enumerate(data):
        rows = [row for row in one.depths if row.depth <= _DEEPEST]
        first = rows[0].turns if rows else 1
        axes.plot(
            [row.depth for row in rows],
            [100 * row.turns / first for row in rows],
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)],
            label=plain(one.name),
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("depth")
    axes.set_ylabel("conversations that reach it (%)")
    axes.set_ylim(bottom=0)
