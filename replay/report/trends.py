"""
Scores over the depths as rows of bars as tall as the numbers they stand for, a character each.

The bars of a score compare between all systems and policies of a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from replay.report.columns import TextColumn
from replay.statistics.depth_table import FEW_CONVERSATIONS, DepthTable, GroupTable

BARS = "▁▂▃▄▅▆▇█"
MOST = 24
"""Bars at most; of longer rows, neighbours share one."""


def sparkline(values: Sequence[float | None], *, low: float, high: float) -> str:
    """
    Return a bar for each of *values*, from the lowest at *low* to the highest at *high*; a space for None.

    What lies beyond is drawn as the end it passed. Where *low* is *high*, all bars are half as tall. Of more
    than 24 values, as few neighbours as necessary share a bar, which is their mean.
    """
    together = max(1, math.ceil(len(values) / MOST))
    return "".join(
        _bar([value for value in values[start : start + together] if value is not None], low, high)
        for start in range(0, len(values), together)
    )


def _bar(values: Sequence[float], low: float, high: float) -> str:
    if not values:
        return " "
    if high <= low:
        return BARS[len(BARS) // 2 - 1]
    share = (sum(values) / len(values) - low) / (high - low)
    return BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]


def can_show_bars(encoding: str) -> bool:
    """Return whether a terminal of *encoding* has the characters."""
    try:
        BARS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


TREND_NOTE = "trend: the score over the depths, from its lowest to its highest value under any policy."
NO_BAR = "\u00b7"
"""In the place of a space, which Markdown would drop."""

Scales = Mapping[str, tuple[float, float]]
"""The lowest and highest value of each score, for all groups, so that their bars compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One group's depth table with the scales of its scores."""

    group: GroupTable
    table: DepthTable
    scales: Scales


def scales(table: DepthTable) -> Scales:
    """
    Return the range of each score over the depths that several conversations have; over all if none has.
    """
    ends = {}
    for name in table.columns:
        rows = [row for group in table.groups for row in group.depths if row.scores[name].value is not None]
        rows = [row for row in rows if row.conversations >= FEW_CONVERSATIONS] or rows
        values = [value for row in rows if (value := row.scores[name].value) is not None]
        ends[name] = (min(values), max(values)) if values else (0.0, 0.0)
    return ends


def trend_bars(group: GroupTable, name: str, known: Scales) -> str:
    low, high = known[name]
    return sparkline([row.scores[name].value for row in group.depths], low=low, high=high)


def with_trends(scores: Sequence[TextColumn], table: DepthTable) -> list[TextColumn]:
    """
    Return *scores*, a column for each of the table's and a row for each group, with bars behind the numbers.
    """
    if not trend_notes(table):
        return list(scores)
    known = scales(table)
    return [
        replace(
            one,
            cells=tuple(
                f"{cell} {trend_bars(group, name, known).replace(' ', NO_BAR)}"
                for cell, group in zip(one.cells, table.groups, strict=True)
            ),
        )
        for name, one in zip(table.columns, scores, strict=True)
    ]


def trend_notes(table: DepthTable) -> list[str]:
    """Return a sentence on the bars of ``with_trends``; empty if the table has none."""
    several = any(len(group.depths) > 1 for group in table.groups)
    return [f"bars: {TREND_NOTE.removeprefix('trend: ')}"] if several and table.columns else []
