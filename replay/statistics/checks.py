"""
A run's checks, counted: what passed, what failed and what could not be looked at, never taken together.

What became of the same checks on two sides: those that newly fail, newly pass, or are no longer looked at.

Two checks are the same where conversation, turn, kind, name and what is expected are; the place of a check
among its turn's does not matter, so that one that is put before it changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from replay.core.expectation import CheckResult
from replay.statistics.group import Group, groups_in_order
from replay.statistics.score_column import CellType, flat

CHECK_COLUMNS: Mapping[str, CellType] = {
    "conversation": "text",
    "system": "text",
    "policy": "text",
    "depth": "whole",
    "at_end": "flag",
    "position": "whole",
    "kind": "text",
    "called": "text",
    "value": "json",
    "passed": "flag",
    "reason": "text",
    "evidence": "text",
    "asked": "text",
    "answer": "text",
    "valid": "flag",
}
"""The columns of ``check_rows``, in order: what ``CheckResult`` has; ``valid`` is the drift's verdict."""


@dataclass(slots=True, kw_only=True)
class CheckCounts:
    """How some checks came out."""

    passed: int = 0
    failed: int = 0
    unchecked: Counter[str] = field(default_factory=Counter)
    """How many could not be looked at, by reason."""

    @property
    def all(self) -> int:
        return self.passed + self.failed + self.unchecked.total()

    def add(self, check: CheckResult) -> None:
        """Count *check* too."""
        if check.passed is None:
            self.unchecked[check.reason or "no reason given"] += 1
        elif check.passed:
            self.passed += 1
        else:
            self.failed += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One column of checks, of one system under one policy."""

    group: Group
    name: str
    """``check``, ``check.contains``, ..."""
    depth: int | None
    """None for all depths together."""
    counts: CheckCounts

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        counts = self.counts
        return {
            **msgspec.to_builtins(self.group),
            "check": self.name,
            "depth": self.depth,
            "passed": counts.passed,
            "failed": counts.failed,
            "unchecked": dict(counts.unchecked.most_common()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What became of a run's checks."""

    rows: tuple[CheckRow, ...]
    """By group, then column, all checks first, then depth, all of them last."""
    failed: tuple[CheckResult, ...]
    """From the first depth on: what goes wrong early may bring about the rest."""

    @property
    def totals(self) -> list[CheckRow]:
        """The rows over all depths."""
        return [row for row in self.rows if row.depth is None]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "counts": [row.to_json() for row in self.rows],
            "failed": list(check_rows(self.failed, nested=True)),
        }


def reasons_text(unchecked: Counter[str]) -> str:
    """Return ``2 never reached, 1 skipped``, most first."""
    return ", ".join(f"{count:,} {reason}" for reason, count in unchecked.most_common())


def check_rows(checks: Iterable[CheckResult], *, nested: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each of *checks*; ``json`` cells are as they are if *nested*, else JSON text."""
    for one in checks:
        row = {name: getattr(one, name, None) for name in CHECK_COLUMNS}
        row["valid"] = None if one.drift is None else one.drift.valid
        yield row if nested else {name: flat(value, CHECK_COLUMNS[name]) for name, value in row.items()}


def count_checks(checks: Iterable[CheckResult]) -> Checks:
    """Return the counts of *checks*, which come in the order of the data."""
    found: dict[tuple[Group, str, int | None], CheckCounts] = defaultdict(CheckCounts)
    failed = []
    for one in checks:
        group = Group(one.system, one.policy)
        for name in one.columns:
            found[group, name, one.depth].add(one)
            found[group, name, None].add(one)
        if one.passed is False:
            failed.append(one)
    groups = groups_in_order(group for group, *_ in found)
    keys = sorted(found, key=lambda key: (groups.index(key[0]), key[1], key[2] is None, key[2] or 0))
    return Checks(
        rows=tuple(
            CheckRow(group=group, name=name, depth=depth, counts=found[group, name, depth])
            for group, name, depth in keys
        ),
        failed=tuple(sorted(failed, key=lambda check: check.depth)),
    )


class ChangedCheck(NamedTuple):
    """One check on both sides."""

    before: CheckResult
    after: CheckResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedChecks:
    """The checks of two sides that came out otherwise, each list in the order of the data."""

    newly_failed: tuple[ChangedCheck, ...]
    """Failed on the second side and not on the first, where they passed or could not be looked at."""
    no_longer_looked_at: tuple[ChangedCheck, ...]
    newly_passed: tuple[ChangedCheck, ...]
    alike: int
    """How many came out the same."""
    only_first: int
    """How many the other side doesn't have: the data differ, or the conversation was not played."""
    only_second: int

    @property
    def changes(self) -> dict[str, tuple[ChangedCheck, ...]]:
        """The lists by what is said of them, the worst first; empty ones are left out."""
        lists = {
            "newly failing": self.newly_failed,
            "no longer looked at": self.no_longer_looked_at,
            "newly passing": self.newly_passed,
        }
        return {name: found for name, found in lists.items() if found}

    @property
    def summary(self) -> str:
        """Return the number of changes of each kind, on one line."""
        counts = [f"{len(found):,} {name}" for name, found in self.changes.items()]
        counts.append(f"{self.alike:,} as before")
        apart = (("only in A", self.only_first), ("only in B", self.only_second))
        return ", ".join([*counts, *(f"{count:,} {where}" for where, count in apart if count)])

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ("newly_failed", "no_longer_looked_at", "newly_passed")
        return {
            **{name: [_json(one) for one in getattr(self, name)] for name in names},
            "alike": self.alike,
            "only_first": self.only_first,
            "only_second": self.only_second,
        }


def changed_checks(before: Iterable[CheckResult], after: Iterable[CheckResult]) -> ChangedChecks | None:
    """Return the changes from *before* to *after* for one system and policy; None if neither has a check."""
    first, second = _by_content(before), _by_content(after)
    if not first and not second:
        return None
    pairs = [ChangedCheck(first[key], check) for key, check in second.items() if key in first]
    changed = [one for one in pairs if one.before.passed is not one.after.passed]
    return ChangedChecks(
        newly_failed=tuple(one for one in changed if one.after.passed is False),
        no_longer_looked_at=tuple(one for one in changed if one.after.passed is None),
        newly_passed=tuple(one for one in changed if one.after.passed),
        alike=len(pairs) - len(changed),
        only_first=len(first) - len(pairs),
        only_second=len(second) - len(pairs),
    )


def _by_content(checks: Iterable[CheckResult]) -> dict[tuple[Any, ...], CheckResult]:
    """Return *checks* by what tells them apart; the second of two alike has a number of its own."""
    seen = Counter[tuple[Any, ...]]()
    found = {}
    for one in checks:
        # A conversation without recorded questions may end elsewhere the next time.
        depth = 0 if one.at_end else one.depth
        key = one.conversation, depth, one.at_end, one.kind, one.called, one.value_text
        seen[key] += 1
        found[*key, seen[key]] = one
    return found


def _json(one: ChangedCheck) -> dict[str, Any]:
    before, after = check_rows(one, nested=True)
    sides = ("passed", "reason", "evidence", "asked", "answer")
    shared = {name: after[name] for name in ("conversation", "depth", "at_end", "kind", "called", "value")}
    return {**shared, **{f"{name}_before": before[name] for name in sides}, **{n: after[n] for n in sides}}
