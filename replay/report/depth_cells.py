"""
A depth table and the differences to gold as columns of cells, for a terminal and for Markdown alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replay.report.columns import LAYOUTS, NONE, Layout, TextColumn, score_cells
from replay.scorers.scorer import SHARE
from replay.statistics.depth_row import DepthRow
from replay.statistics.depth_table import DepthTable, GroupTable
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.paired import PairedDifference


def depth_columns(group: GroupTable, table: DepthTable, layout: Layout = LAYOUTS[1]) -> list[TextColumn]:
    """The depth table of *group*, depths first and all of them last."""
    rows = group.rows
    columns = [
        TextColumn(head="depth", cells=tuple("all" if r.depth is None else str(r.depth) for r in rows)),
        TextColumn(head="turns", cells=tuple(str(row.turns) for row in rows)),
    ]
    for name, column in table.columns.items():
        values = [(row.scores[name].value, row.scores[name].low, row.scores[name].high) for row in rows]
        cells = score_cells(values, percent=column.percent, whole=layout.whole)
        columns.append(TextColumn(head=column_head(name, column.unit), cells=cells, left=True))
    totals = [g.total for g in table.groups]
    shown = {
        "invalid %": (
            any(total.drift_checked for total in totals),
            [_percent(row.invalid_share) for row in rows],
        ),
        "edited %": (any(total.edited for total in totals), [_percent(row.edited_share) for row in rows]),
        "failed": (any(total.failed for total in totals), [str(row.failed) for row in rows]),
        "unreached": (any(total.unreached for total in totals), [str(row.unreached) for row in rows]),
    }
    return columns + [
        TextColumn(head=head, cells=tuple(cells))
        for head, (says_something, cells) in shown.items()
        if says_something or not layout.sparse
    ]


def gap_columns(gaps: Sequence[PairedDifference], layout: Layout = LAYOUTS[1]) -> list[TextColumn]:
    """A row for each policy that was compared, over all depths."""
    by_pair: dict[tuple[str, str], dict[str, PairedDifference]] = {}
    for gap in gaps:
        by_pair.setdefault((gap.second.system, gap.second.policy), {})[gap.score] = gap
    rows = list(by_pair.values())
    one_system = len({system for system, _ in by_pair}) == 1
    names = tuple(policy if one_system else f"{system}, {policy}" for system, policy in by_pair)
    turns = tuple(names_of(gap.total.turns for gap in row.values()) for row in rows)
    columns = [
        TextColumn(head="policy", cells=names, left=True),
        TextColumn(head="turns", cells=turns),
    ]
    for name in dict.fromkeys(gap.score for gap in gaps):
        unit = next(gap.unit for gap in gaps if gap.score == name)
        totals = [row[name].total if name in row else None for row in rows]
        values = [(None, None, None) if t is None else (t.value, t.low, t.high) for t in totals]
        cells = score_cells(values, percent=unit == SHARE, whole=layout.whole, signed=True)
        columns.append(TextColumn(head=column_head(name, unit), cells=cells, left=True))
    return columns


def column_head(name: str, unit: str) -> str:
    """``latency (s)``; a share is said to be in per cent below the tables."""
    return name if unit in (SHARE, "") else f"{name} ({unit})"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}"


def latency_lines(total: DepthRow) -> list[str]:
    """Median and 95th percentile in words, if any turn was answered."""
    if total.latency_p50_s is None or total.latency_p95_s is None:
        return []
    return [
        f"latency: median {_seconds(total.latency_p50_s)}, 95th percentile {_seconds(total.latency_p95_s)}"
    ]


def _seconds(duration_s: float) -> str:
    return f"{1000 * duration_s:.3g} ms" if duration_s < 1 else f"{duration_s:.3g} s"


def scale_note(table: DepthTable) -> str:
    """Which scores are in per cent."""
    percent = [name for name, column in table.columns.items() if column.percent]
    return f"in per cent: {', '.join(percent)}." if percent else "no score is in per cent."


def interval_note(table: DepthTable) -> str:
    """What the brackets are."""
    if not table.resamples:
        return "no intervals: there were no resamples."
    return (
        f"in brackets: {100 * table.confidence:g} % interval, {METHOD_NAMES[table.method]} over "
        f"{table.conversations:,} conversations, {table.resamples:,} resamples, seed {table.seed}."
    )


def names_of(items: Iterable[object]) -> str:
    """Each once, as ``gold/pred``."""
    return "/".join(dict.fromkeys(map(str, items)))
