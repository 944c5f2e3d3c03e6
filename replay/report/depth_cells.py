"""A depth table and the differences to gold as columns of cells, for a terminal and for Markdown alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replay.report.columns import LAYOUTS, NONE, Layout, TextColumn, column, depth_column, score_column
from replay.statistics.depth_row import DepthRow
from replay.statistics.depth_table import DepthTable, GroupTable
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.paired import PairedDifference


def depth_columns(group: GroupTable, table: DepthTable, layout: Layout = LAYOUTS[0]) -> list[TextColumn]:
    """The depth table of *group*, depths first and all of them last, without columns that are all zero."""
    rows, total = group.rows, group.total
    shown = {
        "invalid %": (total.drift_checked, (percent(row.invalid_share) for row in rows)),
        "edited %": (total.edited, (percent(row.edited_share) for row in rows)),
        "failed": (total.failed, (str(row.failed) for row in rows)),
        "unreached": (total.unreached, (str(row.unreached) for row in rows)),
    }
    return [
        depth_column(row.depth for row in rows),
        column("turns", (str(row.turns) for row in rows)),
        *(
            score_column(name, one.unit, (row.scores[name] for row in rows), layout)
            for name, one in table.columns.items()
        ),
        *(column(head, cells) for head, (says_something, cells) in shown.items() if says_something),
    ]


def total_columns(table: DepthTable) -> list[TextColumn]:
    """A row for each system and policy, over all depths: what is looked at first."""
    groups = table.groups
    return [
        column("system", (one.group.system for one in groups), left=True),
        column("policy", (one.group.policy for one in groups), left=True),
        column("turns", (str(one.total.turns) for one in groups)),
        *(
            score_column(name, c.unit, (one.total.scores[name] for one in groups), LAYOUTS[0])
            for name, c in table.columns.items()
        ),
        column("invalid %", (percent(one.total.invalid_share) for one in groups)),
        column("failed", (_failures(one.total) for one in groups)),
    ]


def _failures(row: DepthRow) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in row.failures.items()) or "0"


def gap_columns(gaps: Sequence[PairedDifference], layout: Layout = LAYOUTS[0]) -> list[TextColumn]:
    """A row for each policy that was compared, over all depths."""
    by_pair: dict[tuple[str, str], dict[str, PairedDifference]] = {}
    for gap in gaps:
        by_pair.setdefault((gap.second.system, gap.second.policy), {})[gap.score] = gap
    rows = list(by_pair.values())
    one_system = len({system for system, _ in by_pair}) == 1
    names = (policy if one_system else f"{system}, {policy}" for system, policy in by_pair)
    units = {gap.score: gap.unit for gap in reversed(gaps)}
    return [
        column("policy", names, left=True),
        column("turns", (names_of(gap.total.turns for gap in row.values()) for row in rows)),
        *(
            score_column(
                name,
                units[name],
                (row[name].total if name in row else None for row in rows),
                layout,
                signed=True,
            )
            for name in dict.fromkeys(gap.score for gap in gaps)
        ),
    ]


def percent(share: float | None) -> str:
    """One decimal, without the sign."""
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
    shares = [name for name, column in table.columns.items() if column.percent]
    return f"in per cent: {', '.join(shares)}." if shares else "no score is in per cent."


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
