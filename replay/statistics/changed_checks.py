"""
What became of the same checks on two sides: those that newly fail, newly pass, or are no longer looked at.

Two checks are the same where conversation, turn, kind, name and what is expected are; the place of a check
among its turn's does not matter, so that one that is put before it changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from replay.core.check_result import CheckResult
from replay.statistics.checks import check_rows


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
        """What changed, in a line."""
        counts = [f"{len(found):,} {name}" for name, found in self.changes.items()]
        counts.append(f"{self.alike:,} as before")
        apart = (("only in A", self.only_first), ("only in B", self.only_second))
        return ", ".join([*counts, *(f"{count:,} {where}" for where, count in apart if count)])

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("newly_failed", "no_longer_looked_at", "newly_passed")
        return {
            **{name: [_json(one) for one in getattr(self, name)] for name in names},
            "alike": self.alike,
            "only_first": self.only_first,
            "only_second": self.only_second,
        }


def changed_checks(before: Iterable[CheckResult], after: Iterable[CheckResult]) -> ChangedChecks | None:
    """*after* against *before*, each of one system under one policy; None where neither side has a check."""
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
    """*checks* by what tells them apart; the second of two alike has a number of its own."""
    seen = Counter[tuple[Any, ...]]()
    found = {}
    for one in checks:
        key = one.conversation, one.depth, one.at_end, one.kind, one.called, one.value_text
        seen[key] += 1
        found[*key, seen[key]] = one
    return found


def _json(one: ChangedCheck) -> dict[str, Any]:
    before, after = check_rows(one, nested=True)
    sides = ("passed", "reason", "evidence", "asked", "answer")
    shared = {name: after[name] for name in ("conversation", "depth", "at_end", "kind", "called", "value")}
    return {**shared, **{f"{name}_before": before[name] for name in sides}, **{n: after[n] for n in sides}}
