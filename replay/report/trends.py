"""
Scores over the depths as rows of bars as tall as the numbers they stand for, a character each; and the
depth table where a person looks at it: one block as wide as the terminal, with such bars and colour.

The bars of a score compare between all systems and policies of a table.

A row of bars under the table shows each score over the depths. Where not all scores fit beside each other,
the last ones are folded into a line each, with their bars in the place of a column. Colour only repeats
what the characters say: depths with few conversations and intervals are dim, a difference whose interval
excludes 0 is coloured. rich leaves colours out where NO_COLOR is set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.text import Text

from replay.report.columns import (
    LAYOUTS,
    NONE,
    TextColumn,
    Value,
    blocks,
    column,
    column_head,
    score_cells,
    table_lines,
)
from replay.report.printing import print_lines
from replay.report.run_tables import depth_columns
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


_INTERVAL = r"\[[-+0-9., ]+\]"
_LOWER = r"-[0-9.]+ \[-[0-9.]*[1-9][0-9.]*, -[0-9.]*[1-9][0-9.]*\]"
_HIGHER = r"\+[0-9.]+ \[\+[0-9.]*[1-9][0-9.]*, \+[0-9.]*[1-9][0-9.]*\]"


def has_person(console: Console) -> bool:
    """Return whether *console* is a terminal that can show bars."""
    return console.is_terminal and can_show_bars(console.encoding)


def print_trends(trend: Trend, console: Console) -> list[str]:
    """Print a depth table with its trends; returns the scores that were folded."""
    group, table, known = trend.group, trend.table, trend.scales
    columns, folded = _fitting(group, table, console.width, known)
    lines = table_lines(columns, width=console.width, total=False)
    is_whole = len(blocks(columns, console.width)) == 1
    print_lines(console, _coloured_block(lines, group) if is_whole else lines)
    if folded:
        head, *rows = table_lines(
            _folded_columns(group, table, folded, known), width=console.width, total=False
        )
        print_lines(console, ["", Text(head, style="bold"), *map(_trend, rows)])
    return folded


def _coloured_block(lines: Sequence[str], group: GroupTable) -> Iterator[Text]:
    """Yield a whole table: heading, rule, a line for each row, and sparklines."""
    head, rule, *rows = lines
    yield Text(head, style="bold")
    yield Text(rule, style="dim")
    for line, row in zip(rows, group.rows, strict=False):
        text = Text(line)
        if row.depth is None:
            yield Text(rule, style="dim")
            text.stylize("bold")
        elif row.conversations < FEW_CONVERSATIONS:
            text.stylize("dim")
        text.highlight_regex(_INTERVAL, "dim")
        yield text
    yield from map(_trend, rows[len(group.rows) :])


def coloured_difference(line: str) -> Text:
    """Return a line of differences, those whose interval excludes 0 coloured."""
    text = Text(line)
    text.highlight_regex(_INTERVAL, "dim")
    text.highlight_regex(_LOWER, "bold yellow")
    text.highlight_regex(_HIGHER, "bold cyan")
    return text


def trend_note(folded: Sequence[str]) -> list[str]:
    """Return sentences on what the bars mean, and on how to see the *folded* scores by depth."""
    said = [TREND_NOTE]
    if folded:
        names = ", ".join(folded)
        said.append(
            f"folded, since the terminal is narrow: {names}; `replay report RUN | cat` shows them by depth."
        )
    return said


def _fitting(
    group: GroupTable, table: DepthTable, width: int, known: Scales
) -> tuple[list[TextColumn], list[str]]:
    """Return the columns of one block, and the scores that have no room in it."""
    names = list(table.columns)
    kept, shown = 0, []
    for layout in LAYOUTS:
        columns = _with_trend(depth_columns(group, table, layout), group, table, known)
        if len(blocks(columns, width)) == 1:
            return columns, []
    heads = {column_head(name, table.columns[name].unit): name for name in names}
    for kept in range(len(names) - 1, -1, -1):
        shown = [c for c in columns if c.head not in heads or heads[c.head] in names[:kept]]
        if len(blocks(shown, width)) == 1:
            break
    return shown, names[kept:]


def _with_trend(
    columns: Sequence[TextColumn], group: GroupTable, table: DepthTable, known: Scales
) -> list[TextColumn]:
    """Return *columns* with a last row of sparklines under the scores."""
    if not table.columns:
        return list(columns)
    bars = {column_head(name, c.unit): trend_bars(group, name, known) for name, c in table.columns.items()}
    rows = {"depth": "trend", **bars}
    return [column(one.head, (*one.cells, rows.get(one.head, "")), left=one.left) for one in columns]


def _folded_columns(
    group: GroupTable, table: DepthTable, names: Sequence[str], known: Scales
) -> list[TextColumn]:
    """Return columns with a row for each of *names*."""
    totals: list[str] = []
    lowest: list[str] = []
    highest: list[str] = []
    for name in names:
        percent = table.columns[name].percent
        totals += score_cells([group.total.scores[name]], percent=percent, whole=False)
        values = [(v, row.depth or 0) for row in group.depths if (v := row.scores[name].value) is not None]
        for cells, ends in ((lowest, min(values, default=None)), (highest, max(values, default=None))):
            (cell,) = score_cells([Value(ends[0] if ends else None)], percent=percent, whole=False)
            cells.append(f"{cell} at {ends[1]}" if ends else NONE)
    return [
        column("score", (column_head(name, table.columns[name].unit) for name in names), left=True),
        column("all depths", totals, left=True),
        column("trend", (trend_bars(group, name, known) for name in names), left=True),
        column("lowest", lowest, left=True),
        column("highest", highest, left=True),
    ]


def _trend(line: str) -> Text:
    text = Text(line)
    text.highlight_regex(_INTERVAL, "dim")
    text.highlight_regex("[▁-█]+", "cyan")
    return text
