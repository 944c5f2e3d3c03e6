"""What became of a run's checks: counts by name, and by depth, each failed number with a way to its turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from replay.core.check_result import CheckResult, Verdict
from replay.report.curves import group_label
from replay.statistics.checks import CheckRow, Checks, reasons_text
from replay.statistics.group import Group
from replay.viewer.broken_rules import BrokenRule, checks_id


class CheckCell(NamedTuple):
    """One column of checks of one group, at a depth or at all."""

    row: CheckRow
    why: str
    """Why some could not be looked at; empty where all could."""
    broken: BrokenRule | None
    """The turns of those that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksByDepth:
    """The checks of one group: a line for each depth, a cell for each column."""

    group: Group
    names: Sequence[str]
    lines: Sequence[tuple[int | None, Sequence[CheckCell | None]]]
    """None for a column that nothing counts in at this depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTotals:
    """All checks of a run: a line for each column of checks, a cell for each group (None without any)."""

    heads: Sequence[str]
    """The groups."""
    lines: Sequence[tuple[str, Sequence[CheckCell | None]]]
    """With some that failed or could not be looked at."""
    passed: Sequence[tuple[str, Sequence[CheckCell | None]]]
    """Without any."""


def check_totals(checks: Checks | None, broken: Iterable[BrokenRule]) -> CheckTotals | None:
    """Return a line for each column of checks, over all depths; None without checks."""
    if not checks or not checks.totals:
        return None
    rules = {one.id: one for one in broken}
    cells = {(row.name, row.group): _cell(row, rules) for row in checks.totals}
    groups = list(dict.fromkeys(group for _, group in cells))
    lines = [
        (name, [cells.get((name, group)) for group in groups])
        for name in dict.fromkeys(name for name, _ in cells)
    ]
    passed = [
        line for line in lines if all(not one or not (one.row.counts.failed or one.why) for one in line[1])
    ]
    return CheckTotals(
        heads=[group_label(group, groups) for group in groups],
        lines=[line for line in lines if line not in passed],
        passed=passed,
    )


def checks_by_depth(checks: Checks | None, broken: Iterable[BrokenRule]) -> Iterator[ChecksByDepth]:
    """The same apart for each depth, group by group; all depths last."""
    rules = {one.id: one for one in broken}
    rows = checks.rows if checks else ()
    for group in dict.fromkeys(row.group for row in rows):
        cells = {(row.depth, row.name): _cell(row, rules) for row in rows if row.group == group}
        names = list(dict.fromkeys(name for _, name in cells))
        depths = sorted({depth for depth, _ in cells if depth is not None})
        yield ChecksByDepth(
            group=group,
            names=names,
            lines=[(depth, [cells.get((depth, name)) for name in names]) for depth in (*depths, None)],
        )


def summarize_checks(checks: Sequence[CheckResult]) -> str:
    """What became of *checks*, in a few words."""
    counts = Counter(one.verdict for one in checks)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict) if counts[verdict])


def _cell(row: CheckRow, rules: dict[str, BrokenRule]) -> CheckCell:
    why = reasons_text(row.counts.unchecked)
    return CheckCell(row, why, rules.get(checks_id(row.name, row.group, row.depth)))
