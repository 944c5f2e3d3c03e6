"""
The depth table on a terminal: a table for each system and policy, what the policies change against
gold on the same turns, then notes in words and the signatures.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from replay.report.columns import NONE, Layout, TextColumn, fitting, score_cells, table_lines
from replay.report.notes import notes
from replay.report.report import Report
from replay.scorers.scorer import SHARE
from replay.statistics.depth_row import DepthRow
from replay.statistics.depth_table import DepthTable, GroupTable
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.paired import PairedDifference


def print_report(report: Report, console: Console) -> None:
    """Print *report*, as compactly as the console's width asks for."""
    table, gaps = report.table, report.gaps
    if not table.groups:
        console.print("No turn has been asked yet.")
        return
    layout = fitting(console.width, lambda layout: [_columns(g, table, layout) for g in table.groups])
    for group in table.groups:
        _heading(console, str(group.group))
        lines = table_lines(_columns(group, table, layout), width=console.width, total=True)
        _lines(console, [*lines, *_latency(group.total), ""])
    if gaps:
        layout = fitting(console.width, lambda layout: [_gap_columns(gaps, layout)])
        _heading(console, f"Against {_names(g.first.policy for g in gaps)}, on the same turns")
        lines = table_lines(_gap_columns(gaps, layout), width=console.width, total=False)
        _lines(console, [*lines, ""])
    _section(console, "Notes", [_scale(table), _interval(table), *notes(report)])
    scores = {name: column.signature for name, column in table.columns.items()}
    _signatures(console, {**scores, **report.signatures})


def _columns(group: GroupTable, table: DepthTable, layout: Layout) -> list[TextColumn]:
    rows = group.rows
    columns = [
        TextColumn(head="depth", cells=tuple("all" if r.depth is None else str(r.depth) for r in rows)),
        TextColumn(head="turns", cells=tuple(str(row.turns) for row in rows)),
    ]
    for name, column in table.columns.items():
        values = [(row.scores[name].value, row.scores[name].low, row.scores[name].high) for row in rows]
        cells = score_cells(values, percent=column.percent, whole=layout.whole)
        columns.append(TextColumn(head=_head(name, column.unit), cells=cells, left=True))
    totals = [g.total for g in table.groups]
    shown = {
        "invalid %": (any(total.judged for total in totals), [_percent(row.invalid_share) for row in rows]),
        "edited %": (any(total.edited for total in totals), [_percent(row.edited_share) for row in rows]),
        "failed": (any(total.failed for total in totals), [str(row.failed) for row in rows]),
        "unreached": (any(total.unreached for total in totals), [str(row.unreached) for row in rows]),
    }
    return columns + [
        TextColumn(head=head, cells=tuple(cells))
        for head, (says_something, cells) in shown.items()
        if says_something or not layout.sparse
    ]


def _gap_columns(gaps: Sequence[PairedDifference], layout: Layout) -> list[TextColumn]:
    by_pair: dict[tuple[str, str], dict[str, PairedDifference]] = {}
    for gap in gaps:
        by_pair.setdefault((gap.second.system, gap.second.policy), {})[gap.score] = gap
    rows = list(by_pair.values())
    one_system = len({system for system, _ in by_pair}) == 1
    names = tuple(policy if one_system else f"{system}, {policy}" for system, policy in by_pair)
    turns = tuple(_names(gap.total.turns for gap in row.values()) for row in rows)
    columns = [
        TextColumn(head="policy", cells=names, left=True),
        TextColumn(head="turns", cells=turns),
    ]
    for name in dict.fromkeys(gap.score for gap in gaps):
        unit = next(gap.unit for gap in gaps if gap.score == name)
        totals = [row[name].total if name in row else None for row in rows]
        values = [(None, None, None) if t is None else (t.value, t.low, t.high) for t in totals]
        cells = score_cells(values, percent=unit == SHARE, whole=layout.whole, signed=True)
        columns.append(TextColumn(head=_head(name, unit), cells=cells, left=True))
    return columns


def _head(name: str, unit: str) -> str:
    """``latency (s)``; a share is said to be in per cent below the tables."""
    return name if unit in (SHARE, "") else f"{name} ({unit})"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}"


def _latency(total: DepthRow) -> list[str]:
    if total.latency_p50_s is None or total.latency_p95_s is None:
        return []
    return [
        f"latency: median {_seconds(total.latency_p50_s)}, 95th percentile {_seconds(total.latency_p95_s)}"
    ]


def _seconds(duration_s: float) -> str:
    return f"{1000 * duration_s:.3g} ms" if duration_s < 1 else f"{duration_s:.3g} s"


def _scale(table: DepthTable) -> str:
    percent = [name for name, column in table.columns.items() if column.percent]
    return f"in per cent: {', '.join(percent)}." if percent else "no score is in per cent."


def _interval(table: DepthTable) -> str:
    if not table.resamples:
        return "no intervals: there were no resamples."
    return (
        f"in brackets: {100 * table.confidence:g} % interval, {METHOD_NAMES[table.method]} over "
        f"{table.conversations:,} conversations, {table.resamples:,} resamples, seed {table.seed}."
    )


def _names(items: Iterable[object]) -> str:
    return "/".join(dict.fromkeys(map(str, items)))


def _heading(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"))


def _lines(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        # Text, so that square brackets in a name or an interval are never taken for markup.
        console.print(Text(line), soft_wrap=True)


def _section(console: Console, title: str, lines: Sequence[str]) -> None:
    _heading(console, title)
    for line in lines:
        wrapper = textwrap.TextWrapper(console.width, initial_indent="- ", subsequent_indent="  ")
        wrapper.break_on_hyphens = False
        _lines(console, wrapper.wrap(line))
    _lines(console, [""])


def _signatures(console: Console, signatures: Mapping[str, str]) -> None:
    _heading(console, "Signatures")
    width = max(map(len, signatures), default=0)
    # One line each however narrow the terminal, so that it can be copied.
    _lines(console, (f"{name.ljust(width)}  {signature}" for name, signature in signatures.items()))
