"""
What became of a run's checks, for people: counts, then the failed ones, from the first depth on.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from replay.core.check_result import CheckResult
from replay.core.expectation import ALL_CHECKS
from replay.report.columns import TextColumn, column
from replay.report.printing import heading, put_items, put_lines, put_table, shortened
from replay.statistics.checks import CheckRow, Checks, reasons_text
from replay.statistics.group import Group

MOST = 10
"""Failed checks that are shown to people; JSON and the export have all."""


def print_checks(checks: Checks, console: Console) -> None:
    """Print the counts of each group and the first of the failed checks, as wide as *console* is."""
    groups = by_group(checks)
    for group, rows in groups.items():
        alike = said_of_all(rows)
        heading(console, f"Checks: {group}{f': {alike}' if alike else ''}")
        if not alike:
            put_table(console, count_columns(rows), below=())
        put_items(console, unchecked_lines(rows))
        put_lines(console, [""])
    if checks.failed:
        heading(console, "Failed checks")
        for one in checks.failed[:MOST]:
            put_lines(console, _lines(one, console.width, names_group=len(groups) > 1))
        put_lines(console, [*more_lines(checks.failed), ""])


def by_group(checks: Checks) -> dict[Group, list[CheckRow]]:
    """The rows over all depths of each system under each policy."""
    found: dict[Group, list[CheckRow]] = {}
    for row in checks.totals:
        found.setdefault(row.group, []).append(row)
    return found


def said_of_all(rows: Sequence[CheckRow]) -> str:
    """What became of one group's checks where that is the same for all and takes no table; else empty."""
    counts = rows[0].counts
    if counts.passed == counts.all:
        return f"all {counts.all:,} passed"
    return f"none of {counts.all:,} could be looked at" if counts.unchecked.total() == counts.all else ""


def count_columns(rows: Sequence[CheckRow]) -> list[TextColumn]:
    """A row for each of *rows*."""
    counts = [row.counts for row in rows]
    return [
        column("checks", (row.name for row in rows), left=True),
        column("passed", (f"{one.passed:,}" for one in counts)),
        column("failed", (f"{one.failed:,}" for one in counts)),
        column("not looked at", (f"{one.unchecked.total():,}" for one in counts)),
    ]


def unchecked_lines(rows: Sequence[CheckRow]) -> Iterator[str]:
    """Why some of *rows* could not be looked at, most first."""
    for row in rows:
        if row.name == ALL_CHECKS and row.counts.unchecked:
            yield f"not looked at: {reasons_text(row.counts.unchecked)}"


def check_title(check: CheckResult, *, names_group: bool) -> str:
    """``bot, pred: depth 2 of talk3: contains "refund"``, on a line."""
    return f"{check.system}, {check.policy}: {check.title}" if names_group else check.title


def turn_texts(check: CheckResult) -> dict[str, str | None]:
    """What was asked, answered and found, by name."""
    return {"asked": check.asked, "answer": check.answer, "found": check.evidence}


def more_lines(failed: Sequence[CheckResult]) -> list[str]:
    """Where those of *failed* are that were not shown."""
    rest = len(failed) - MOST
    return [f"and {rest:,} more: replay export RUN --table checks"] if rest > 0 else []


def _lines(check: CheckResult, width: int, *, names_group: bool) -> list[str]:
    texts = turn_texts(check).items()
    title = shortened(check_title(check, names_group=names_group), width)
    return [title, *(f"  {name:6}  {shortened(text, width - 10)}" for name, text in texts)]
