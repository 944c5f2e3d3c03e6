"""
What became of a run's checks, for people: counts, then the failed ones, from the first depth on.

All our own characters are ASCII, so that a pipe with a modest encoding can take them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Console

from replay.core.check_result import CheckResult
from replay.core.expectation import ALL_CHECKS
from replay.report.columns import TextColumn, column
from replay.report.printing import heading, print_items, print_lines, print_table, shorten
from replay.statistics.checks import CheckRow, Checks, reasons_text
from replay.statistics.group import Group

MOST = 10
"""Turns with failed checks that are shown to people; JSON and the export have all."""


def print_checks(checks: Checks, console: Console) -> None:
    """Print the counts of each group and the first of the failed checks, as wide as *console* is."""
    groups = by_group(checks)
    for group, rows in groups.items():
        alike = common_outcome(rows)
        heading(console, f"Checks: {group}{f': {alike}' if alike else ''}")
        if not alike:
            print_table(console, count_columns(rows), below=())
        print_items(console, unchecked_lines(rows))
        print_lines(console, [""])
    if turns := failed_turns(checks.failed):
        heading(console, "Failed checks")
        for one in turns[:MOST]:
            title = one.title(names_groups=len(groups) > 1)
            lines = [f"  {name:6}  {shorten(text, console.width - 10)}" for name, text in one.texts]
            print_lines(console, [shorten(title, console.width), *lines])
        print_lines(console, [*more_lines(turns), ""])


def by_group(checks: Checks) -> dict[Group, list[CheckRow]]:
    """The rows over all depths of each system under each policy."""
    found: dict[Group, list[CheckRow]] = {}
    for row in checks.totals:
        found.setdefault(row.group, []).append(row)
    return found


def common_outcome(rows: Sequence[CheckRow]) -> str:
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


def group_count_columns(checks: Checks) -> list[TextColumn]:
    """A row for each check of each system and policy, or one where all of theirs came out alike."""
    groups = by_group(checks).values()
    rows = [row for found in groups for row in (found[:1] if common_outcome(found) else found)]
    return [
        column("system", (row.group.system for row in rows), left=True),
        column("policy", (row.group.policy for row in rows), left=True),
        *count_columns(rows),
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


class FailedTurn(NamedTuple):
    """A turn, or a conversation's end, with the checks that failed there."""

    groups: Sequence[Group]
    """Where the same was asked, answered and failed."""
    checks: Sequence[CheckResult]

    def title(self, *, names_groups: bool) -> str:
        """``depth 2 of talk3 (bot, gold; bot, pred)``, on a line."""
        first = self.checks[0]
        who = f" ({'; '.join(map(str, self.groups))})" if names_groups else ""
        return f"{first.where} of {first.conversation}{who}"

    @property
    def texts(self) -> Iterator[tuple[str, str | None]]:
        """What was asked and answered, and each check with what was found, by what it is."""
        yield "asked", self.checks[0].asked
        yield "answer", self.checks[0].answer
        for one in self.checks:
            yield "failed", f"{one.rule}: {one.evidence}" if one.evidence else one.rule


def failed_turns(failed: Sequence[CheckResult]) -> list[FailedTurn]:
    """The turns of the *failed* checks in their order; what several policies have in common stands once."""
    turns: dict[tuple[str, int, bool, Group], list[CheckResult]] = {}
    for one in failed:
        key = one.conversation, one.depth, one.at_end, Group(one.system, one.policy)
        turns.setdefault(key, []).append(one)
    alike: dict[tuple[object, ...], FailedTurn] = {}
    for (*turn, group), checks in turns.items():
        rules = tuple((one.rule, one.evidence) for one in checks)
        same = *turn, checks[0].asked, checks[0].answer, rules
        before = alike[same].groups if same in alike else ()
        alike[same] = FailedTurn([*before, group], checks)
    return list(alike.values())


def more_lines(turns: Sequence[FailedTurn]) -> list[str]:
    """Where those of the failed *turns* are that were not shown."""
    rest = len(turns) - MOST
    return [f"and {rest:,} more turns: replay export RUN --table checks"] if rest > 0 else []
