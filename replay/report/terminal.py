"""
The depth table where a person looks at it: one block as wide as the terminal, with sparklines and colour.

A row of sparklines under the table shows each score over the depths. Where not all scores fit beside each
other, the last ones are folded into a line each, with their sparkline in the place of a column. Colour
only repeats what the characters say: depths with few conversations and intervals are dim, a difference
whose interval excludes 0 is coloured. rich leaves colours out where NO_COLOR is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from replay.report.columns import LAYOUTS, NONE, TextColumn, blocks, score_cells, table_lines
from replay.report.depth_cells import column_head, depth_columns
from replay.report.notes import FEW_CONVERSATIONS
from replay.report.sparkline import can_show_bars, sparkline
from replay.statistics.depth_table import DepthTable, GroupTable

_INTERVAL = r"\[[-+0-9., ]+\]"
_LOWER = r"-[0-9.]+ \[-[0-9.]*[1-9][0-9.]*, -[0-9.]*[1-9][0-9.]*\]"
_HIGHER = r"\+[0-9.]+ \[\+[0-9.]*[1-9][0-9.]*, \+[0-9.]*[1-9][0-9.]*\]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """The lowest and highest value of each score, for all groups, so that their bars compare."""

    ends: Mapping[str, tuple[float, float]]


def has_person(console: Console) -> bool:
    """Whether *console* is a terminal that can show bars."""
    return console.is_terminal and can_show_bars(console.encoding)


def scales(table: DepthTable) -> Scales:
    """From the depths that several conversations have; from all where none has."""
    ends = {}
    for name in table.columns:
        rows = [row for group in table.groups for row in group.depths if row.scores[name].value is not None]
        rows = [row for row in rows if row.conversations >= FEW_CONVERSATIONS] or rows
        values = [value for row in rows if (value := row.scores[name].value) is not None]
        ends[name] = (min(values), max(values)) if values else (0.0, 0.0)
    return Scales(ends=ends)


def print_group(group: GroupTable, table: DepthTable, console: Console, known: Scales) -> list[str]:
    """Print one group's table; returns the scores that were folded."""
    columns, folded = _fitting(group, table, console.width, known)
    lines = table_lines(columns, width=console.width, total=False)
    if len(blocks(columns, console.width)) == 1:
        _print_block(lines, group, console)
    else:
        for line in lines:
            console.print(Text(line), soft_wrap=True)
    if folded:
        shown = table_lines(_folded_columns(group, table, folded, known), width=console.width, total=False)
        console.print()
        console.print(Text(shown[0], style="bold"), soft_wrap=True)
        for line in shown[1:]:
            console.print(_trend(line), soft_wrap=True)
    return folded


def _print_block(lines: Sequence[str], group: GroupTable, console: Console) -> None:
    """A whole table: heading, rule, a line for each row, and sparklines."""
    head, rule, *rows = lines
    console.print(Text(head, style="bold"), soft_wrap=True)
    console.print(Text(rule, style="dim"), soft_wrap=True)
    for line, row in zip(rows, group.rows, strict=False):
        text = Text(line)
        if row.depth is None:
            console.print(Text(rule, style="dim"), soft_wrap=True)
            text.stylize("bold")
        elif row.conversations < FEW_CONVERSATIONS:
            text.stylize("dim")
        text.highlight_regex(_INTERVAL, "dim")
        console.print(text, soft_wrap=True)
    for line in rows[len(group.rows) :]:
        console.print(_trend(line), soft_wrap=True)


def coloured_difference(line: str) -> Text:
    """A line of differences, those whose interval excludes 0 coloured."""
    text = Text(line)
    text.highlight_regex(_INTERVAL, "dim")
    text.highlight_regex(_LOWER, "bold yellow")
    text.highlight_regex(_HIGHER, "bold cyan")
    return text


def trend_note(folded: Sequence[str]) -> list[str]:
    """What the bars are, and where the folded scores are to be had by depth."""
    said = ["trend: the score over the depths, from its lowest to its highest value under any policy."]
    if folded:
        names = ", ".join(folded)
        said.append(
            f"folded, since the terminal is narrow: {names}; `replay report RUN | cat` shows them by depth."
        )
    return said


def _fitting(
    group: GroupTable, table: DepthTable, width: int, known: Scales
) -> tuple[list[TextColumn], list[str]]:
    """The columns of one block, and the scores that have no room in it."""
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
    """*columns* with a last row of sparklines under the scores."""
    if not table.columns:
        return list(columns)
    bars = {column_head(name, c.unit): _bars(group, name, known) for name, c in table.columns.items()}
    rows = {"depth": "trend", **bars}
    return [
        TextColumn(head=column.head, cells=(*column.cells, rows.get(column.head, "")), left=column.left)
        for column in columns
    ]


def _bars(group: GroupTable, name: str, known: Scales) -> str:
    low, high = known.ends[name]
    return sparkline([row.scores[name].value for row in group.depths], low=low, high=high)


def _folded_columns(
    group: GroupTable, table: DepthTable, names: Sequence[str], known: Scales
) -> list[TextColumn]:
    """A row for each of *names*."""
    totals: list[str] = []
    lowest: list[str] = []
    highest: list[str] = []
    for name in names:
        percent = table.columns[name].percent
        total = group.total.scores[name]
        totals += score_cells([(total.value, total.low, total.high)], percent=percent, whole=False)
        values = [(v, row.depth or 0) for row in group.depths if (v := row.scores[name].value) is not None]
        for cells, ends in ((lowest, min(values, default=None)), (highest, max(values, default=None))):
            cells.append(NONE if ends is None else _at_depth(*ends, percent=percent))
    heads = tuple(column_head(name, table.columns[name].unit) for name in names)
    return [
        TextColumn(head="score", cells=heads, left=True),
        TextColumn(head="all depths", cells=tuple(totals), left=True),
        TextColumn(head="trend", cells=tuple(_bars(group, name, known) for name in names), left=True),
        TextColumn(head="lowest", cells=tuple(lowest), left=True),
        TextColumn(head="highest", cells=tuple(highest), left=True),
    ]


def _at_depth(value: float, depth: int, *, percent: bool) -> str:
    (cell,) = score_cells([(value, None, None)], percent=percent, whole=False)
    return f"{cell} at {depth}"


def _trend(line: str) -> Text:
    text = Text(line)
    text.highlight_regex(_INTERVAL, "dim")
    text.highlight_regex("[▁-█]+", "cyan")
    return text
