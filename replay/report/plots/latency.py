"""``latency``: medians and 95th percentiles of latency and time to first token by depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from replay.core.errors import InputError
from replay.core.record import TurnRecord
from replay.report.plots.drawing import GREY, Width
from replay.report.plots.frame import draw_counts, draw_legend, frame, note_few
from replay.report.plots.plotted import Look, PlottedRun, looks
from replay.statistics.depth_row import FEW_CONVERSATIONS
from replay.statistics.group import group_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOG_FROM = 30.0
"""Where the slowest is so many times the fastest, the scale is logarithmic."""
Waits = Mapping[Look, Mapping[int, Sequence[TurnRecord]]]


def latency_figure(runs: Sequence[PlottedRun], width: Width) -> Figure:
    """
    A panel for latency and one for time to first token, if any answer came in pieces.

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
    measures: list[tuple[str, Callable[[TurnRecord], float | None]]] = [("latency", _latency)]
    if any(_ttft(r) is not None for by_depth in answered.values() for rs in by_depth.values() for r in rs):
        measures.append(("time to first token", _ttft))
    labels = [look.label for look in answered] if len(answered) > 1 else []
    labels += ["median", "95th percentile"]
    made = frame(len(measures), width=width, entries=labels)
    few = [_draw(axes, answered, *measure) for axes, measure in zip(made.panels, measures, strict=True)]
    draw_counts(made, {look: {d: len(rs) for d, rs in by.items()} for look, by in answered.items()})
    made.counts[0].set_ylabel("answered")

    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=o.colour, marker=o.marker, linestyle="") for o in answered]
    handles = handles if len(answered) > 1 else []
    handles += [Line2D([], [], color=GREY, linestyle=dashes) for dashes in ("-", "--")]
    draw_legend(made, handles, labels)
    note_few(made, any(few))
    return made.figure


def _latency(record: TurnRecord) -> float | None:
    return None if record.timing is None else record.timing.latency_s


def _ttft(record: TurnRecord) -> float | None:
    return None if record.timing is None else record.timing.ttft_s


def _draw(axes: Axes, answered: Waits, name: str, read: Callable[[TurnRecord], float | None]) -> bool:
    """Draw one measure; returns whether a point rests on few conversations."""
    waits = {
        look: {depth: found for depth, rs in sorted(by.items()) if (found := _known_waits(rs, read))}
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


def _known_waits(records: Sequence[TurnRecord], read: Callable[[TurnRecord], float | None]) -> list[float]:
    return [wait for record in records if (wait := read(record)) is not None]
