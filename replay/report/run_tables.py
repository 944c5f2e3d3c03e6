"""Tables of a run's numbers as columns of cells, for whichever output shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from replay.core.terminal import on_one_line
from replay.report.numbers import count_text
from replay.report.printing import (
    LAYOUTS,
    NONE,
    Layout,
    TextColumn,
    Value,
    column,
    depth_column,
    score_cells,
    score_column,
)
from replay.scorers.scorer import SHARE
from replay.statistics.checks import CheckRow, Checks
from replay.statistics.depth_table import DepthRow, DepthTable, GroupTable
from replay.statistics.estimate import Estimate
from replay.statistics.group import Group
from replay.statistics.interval import METHOD_NAMES
from replay.statistics.paired import PairedDifference
from replay.statistics.pass_curves import PassCurve
from replay.statistics.people import HumanNumber, HumanTable
from replay.statistics.repeats import RepeatNumbers, SpreadRow
from replay.statistics.run_numbers import GroupServerTimes, TurnGroups

MANY_ROWS = 24
"""A table of repeats with more rows shows no single depths."""
SHOWN_REPEATS = 5
"""Of more than that, the spread shows the least and the most alone."""


def depth_columns(group: GroupTable, table: DepthTable, layout: Layout = LAYOUTS[0]) -> list[TextColumn]:
    """
    Return the columns of the depth table of *group*, depths first and all of them last, without columns that
    are all zero.
    """
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


def turn_group_columns(groups: TurnGroups, table: DepthTable, layout: Layout) -> list[TextColumn]:
    """Return columns with a row for each label, system and policy of *groups*, whose scores *table* has."""
    rows = groups.rows
    return [
        column(groups.by, (row.label for row in rows), left=True),
        column("system", (row.group.system for row in rows), left=True),
        column("policy", (row.group.policy for row in rows), left=True),
        column("turns", (str(row.turns) for row in rows)),
        *(
            score_column(name, one.unit, (row.scores[name] for row in rows), layout)
            for name, one in table.columns.items()
        ),
    ]


def total_columns(table: DepthTable) -> list[TextColumn]:
    """Return columns with a row for each system and policy, over all depths: what is looked at first."""
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
    """Return columns with a row for each policy that was compared, over all depths."""
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
    """Return *share* in per cent with one decimal, without the sign."""
    return NONE if share is None else f"{100 * share:.1f}"


def latency_lines(total: DepthRow) -> list[str]:
    """Return median and 95th percentile in words, if any turn was answered."""
    if total.latency_p50_s is None or total.latency_p95_s is None:
        return []
    return [
        f"latency: median {_seconds(total.latency_p50_s)}, 95th percentile {_seconds(total.latency_p95_s)}"
    ]


def server_columns(group: GroupServerTimes) -> list[TextColumn]:
    """Return the means of what a server said beside our own times, in ms; the row of all depths last."""
    rows = group.rows
    parts = {
        "latency": [row.latency_s for row in rows],
        "TTFT": [row.ttft_s for row in rows],
        "queue": [row.queue_s for row in rows],
        "prefill": [row.prefill_s for row in rows],
        "decode": [row.decode_s for row in rows],
        "server": [row.server_s for row in rows],
    }
    return [
        depth_column(row.depth for row in rows),
        column("turns", (str(row.turns) for row in rows)),
        *(
            column(head, (NONE if one is None else f"{1000 * one:,.1f}" for one in values))
            for head, values in parts.items()
            if any(one is not None for one in values)
        ),
        column("server %", (percent(row.share) for row in rows)),
    ]


def _seconds(duration_s: float) -> str:
    return f"{1000 * duration_s:.3g} ms" if duration_s < 1 else f"{duration_s:.3g} s"


def scale_note(table: DepthTable) -> str:
    """Return a sentence that names the scores in per cent."""
    shares = [name for name, column in table.columns.items() if column.percent]
    return f"in per cent: {', '.join(shares)}." if shares else "no score is in per cent."


def interval_note(table: DepthTable) -> str:
    """Return a sentence on the intervals in brackets: confidence, method, resamples and seed."""
    if not table.resamples:
        return "no intervals: there were no resamples."
    return (
        f"in brackets: {100 * table.confidence:g} % interval, {METHOD_NAMES[table.method]} over "
        f"{count_text(table.conversations, 'conversation')}, {table.resamples:,} resamples, "
        f"seed {table.seed}."
    )


def names_of(items: Iterable[object]) -> str:
    """Return the distinct *items*, joined as in ``gold/pred``."""
    return "/".join(dict.fromkeys(map(str, items)))


def by_group(checks: Checks) -> dict[Group, list[CheckRow]]:
    """Return the rows over all depths of each system under each policy."""
    found: dict[Group, list[CheckRow]] = {}
    for row in checks.totals:
        found.setdefault(row.group, []).append(row)
    return found


def _came_out_alike(rows: Sequence[CheckRow]) -> bool:
    """Return whether all of one group's checks passed, or none could be looked at."""
    counts = rows[0].counts
    return counts.all in (counts.passed, counts.unchecked.total())


def check_columns(checks: Checks) -> list[TextColumn]:
    """
    Return columns with a row for each check of each system and policy, or one where all of theirs came out
    alike.
    """
    groups = by_group(checks).values()
    rows = [row for found in groups for row in (found[:1] if _came_out_alike(found) else found)]
    counts = [row.counts for row in rows]
    return [
        column("system", (row.group.system for row in rows), left=True),
        column("policy", (row.group.policy for row in rows), left=True),
        column("checks", (row.name for row in rows), left=True),
        column("passed", (f"{one.passed:,}" for one in counts)),
        column("failed", (f"{one.failed:,}" for one in counts)),
        column("not looked at", (f"{one.unchecked.total():,}" for one in counts)),
    ]


def displayed_ks(times: int) -> list[int]:
    """Return each k up to 5; of more, those that double, and the last."""
    return [k for k in range(1, times + 1) if times <= 5 or k & (k - 1) == 0 or k == times]


def pass_columns(repeats: RepeatNumbers, group: Group, layout: Layout) -> list[TextColumn]:
    """
    Return columns with pass^k by score and depth, and pass@k of all repeats; empty without yes-or-no scores.
    """
    rows = [curve for curve in repeats.curves if curve.group == group]
    if len(rows) > MANY_ROWS:
        rows = [curve for curve in rows if curve.depth is None]
    if not rows:
        return []
    last = repeats.times
    return [
        column("score", (f"{curve.score}, {curve.label}" for curve in rows), left=True),
        column("cases", (str(curve.cases) for curve in rows)),
        *(
            _pass(f"pass^{k}", [curve.passes_all[k - 1] for curve in rows], layout)
            for k in displayed_ks(last)
        ),
        _pass(f"pass@{last}", [curve.passes_any[last - 1] for curve in rows], layout),
        *_incomplete(rows),
    ]


def _pass(head: str, found: Sequence[Estimate], layout: Layout) -> TextColumn:
    return score_column(head, SHARE, found, layout)


def _incomplete(rows: Sequence[PassCurve]) -> list[TextColumn]:
    if not any(curve.incomplete for curve in rows):
        return []
    return [column("incomplete", (str(curve.incomplete) for curve in rows))]


def repeat_spread_columns(repeats: RepeatNumbers, group: Group, layout: Layout) -> list[TextColumn]:
    """Return each score in each repeat, with the standard deviation between them."""
    rows: Sequence[SpreadRow] = [row for row in repeats.spread if row.group == group]
    if len(rows) > MANY_ROWS:
        rows = [row for row in rows if row.depth is None]
    if not rows:
        return []
    each = [f"play {n}" for n in range(1, repeats.times + 1)] if repeats.times <= SHOWN_REPEATS else []
    return spread_columns(rows, each, layout)


def spread_columns(rows: Sequence[SpreadRow], each: Sequence[str], layout: Layout) -> list[TextColumn]:
    """
    Return mean, standard deviation, then *each* value under its head, or without heads the least and the
    most.
    """

    def values(head: str, found: Sequence[float | None]) -> TextColumn:
        cells = [
            score_cells([Value(value)], percent=row.percent, whole=layout.whole)[0]
            for row, value in zip(rows, found, strict=True)
        ]
        return column(head, cells)

    deep = any(row.depth is not None for row in rows)
    return [
        column("score", (row.score for row in rows), left=True),
        *([depth_column(row.depth for row in rows)] if deep else []),
        values("mean", [row.mean for row in rows]),
        values("sd", [row.deviation for row in rows]),
        *(values(head, [row.values[n] for row in rows]) for n, head in enumerate(each)),
        *([] if each else [values("least", [row.least for row in rows])]),
        *([] if each else [values("most", [row.most for row in rows])]),
    ]


def study_columns(
    table: HumanTable, rows: Sequence[Sequence[str | int | float | HumanNumber | None]]
) -> Iterator[TextColumn]:
    """Yield *table*'s columns over some of its *rows*."""
    for place, head in enumerate(table.columns):
        cells = [row[place] for row in rows]
        numbers = [
            HumanNumber(value=cell) if isinstance(cell, float) else cell
            for cell in cells
            if cell is None or isinstance(cell, float | HumanNumber)
        ]
        if len(numbers) == len(cells):
            percent = any(one.unit == SHARE for one in numbers if one)
            shown = score_cells(numbers, percent=percent, whole=False)
            yield column(f"{head} %" if percent else head, shown, left=True)
        else:
            counts = all(isinstance(cell, int) for cell in cells)
            yield column(head, map(cell_text, cells), left=not counts)


def names_in(table: HumanTable) -> int:
    """Return how many columns come before the first with numbers of which some may be missing."""
    kinds = zip(*table.rows, strict=True)
    return len(list(takewhile(lambda cells: all(isinstance(one, str | int) for one in cells), kinds)))


def cell_text(cell: str | int | float | HumanNumber | None) -> str:
    """Return one cell by itself."""
    if isinstance(cell, float | HumanNumber) or cell is None:
        number = HumanNumber(value=cell) if isinstance(cell, float) else cell
        percent = number is not None and number.unit == SHARE
        (text,) = score_cells([number], percent=percent, whole=False)
        return f"{text} %" if percent and number and number.value is not None else text
    return f"{cell:,}" if isinstance(cell, int) else on_one_line(cell)
