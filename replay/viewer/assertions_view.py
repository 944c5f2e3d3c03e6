"""What had to hold of a run, and whether it did: assertions, a stress run's objectives, the data's checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from replay.core.expectation import CheckResult, Verdict
from replay.core.load_record import LevelPlayed, ObjectiveResult
from replay.report.charts import group_label
from replay.report.numbers import number
from replay.scenario.assertions.findings import AssertionResult, Finding
from replay.statistics.checks import CheckRow, Checks, reasons_text
from replay.statistics.group import Group
from replay.statistics.load.load_summary import Knee
from replay.viewer.run_numbers import BrokenRule, RunNumbers, assertion_id, checks_id, objective_id


class GroupFinding(NamedTuple):
    """What one assertion came to with one system under one policy."""

    finding: Finding
    broken: BrokenRule | None
    """Its turns, where it failed on some."""


class AssertionView(NamedTuple):
    """An assertion and what became of it, what failed first."""

    result: AssertionResult
    found: Sequence[GroupFinding]


class Goal(NamedTuple):
    """One objective at one level."""

    result: ObjectiveResult
    value: str
    broken: BrokenRule | None
    """Its turns, where it was missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionsView:
    """All that had to hold."""

    assertions: Sequence[AssertionView]
    """Those that failed first."""
    summary: str
    """How many failed; empty without any."""
    problem: str
    """Why assertions could not be checked."""
    goals: Sequence[str]
    """A stress run's objectives."""
    levels: Sequence[tuple[LevelPlayed, Sequence[Goal]]]
    """From the lowest up, with each of the objectives."""
    limit: str
    """Up to where they were met."""


def assertions_view(numbers: RunNumbers) -> AssertionsView:
    """Return the view of assertions, objectives and checks, with the turns of those that do not hold."""
    broken = {one.id: one for one in numbers.broken}
    assertions = [_assertion_view(place, one, broken) for place, one in enumerate(numbers.gate.results)]
    levels = [level.played for level in numbers.load.levels if level.played.goals] if numbers.load else []
    knee = numbers.load.knee if numbers.load else None
    return AssertionsView(
        assertions=sorted(assertions, key=lambda one: one.result.holds),
        summary=numbers.gate.summary,
        problem=numbers.gate.problem,
        goals=list(dict.fromkeys(one.goal for level in levels for one in level.goals)),
        levels=[
            (level, [Goal(one, _value(one), broken.get(objective_id(level, one))) for one in level.goals])
            for level in levels
        ],
        limit=_limit(knee) if knee else "",
    )


def _assertion_view(place: int, result: AssertionResult, broken: Mapping[str, BrokenRule]) -> AssertionView:
    found = [GroupFinding(one, broken.get(assertion_id(place, one.group))) for one in result.findings]
    return AssertionView(result, sorted(found, key=lambda one: one.finding.holds))


def _value(one: ObjectiveResult) -> str:
    if one.value is None:
        return "nothing measured"
    if one.key == "errors":
        return f"{number(one.value)} %"
    return number(one.value, "s" if one.key.endswith("_s") else "")


def _limit(knee: Knee) -> str:
    if knee.level is None:
        return f"The lowest level that was offered, {knee.missed}, missed its objectives."
    beyond = f"{knee.missed} missed them" if knee.missed else "nothing higher was offered"
    return f"Objectives were met up to {knee.level}; {beyond}."


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
    cells = {(row.name, row.group): _check_cell(row, rules) for row in checks.totals}
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
    """Yield the checks of each group, apart for each depth; all depths last."""
    rules = {one.id: one for one in broken}
    rows = checks.rows if checks else ()
    for group in dict.fromkeys(row.group for row in rows):
        cells = {(row.depth, row.name): _check_cell(row, rules) for row in rows if row.group == group}
        names = list(dict.fromkeys(name for _, name in cells))
        depths = sorted({depth for depth, _ in cells if depth is not None})
        yield ChecksByDepth(
            group=group,
            names=names,
            lines=[(depth, [cells.get((depth, name)) for name in names]) for depth in (*depths, None)],
        )


def summarize_checks(checks: Sequence[CheckResult]) -> str:
    """Return the number of *checks* by verdict, such as ``3 passed, 1 failed``."""
    counts = Counter(one.verdict for one in checks)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict) if counts[verdict])


def _check_cell(row: CheckRow, rules: dict[str, BrokenRule]) -> CheckCell:
    why = reasons_text(row.counts.unchecked)
    return CheckCell(row, why, rules.get(checks_id(row.name, row.group, row.depth)))
