"""What had to hold of a run, and whether it did: assertions, a stress run's objectives, the data's checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from replay.core.expectation import CheckResult, Verdict
from replay.core.load_record import LevelPlayed, ObjectiveResult
from replay.report.charts import group_label
from replay.report.numbers import number
from replay.scenario.assertions.findings import AssertionResult, Finding
from replay.statistics.checks import CheckRow, Checks
from replay.statistics.group import Group
from replay.statistics.load.load_summary import Knee
from replay.viewer.run_numbers import BrokenRule, GateResult, RunNumbers, assertion_id, objective_id


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionsView:
    """All that had to hold."""

    gate: GateResult
    levels: Sequence[LevelPlayed]
    """Of a stress run with objectives, from the lowest up."""
    limit: str
    """Up to where they were met."""
    rules: Mapping[str, BrokenRule]
    """All that failed, by id."""

    @property
    def results(self) -> Sequence[tuple[int, AssertionResult]]:
        """The assertions with their places in the scenario."""
        return list(enumerate(self.gate.results))

    @property
    def goals(self) -> Sequence[str]:
        """The objectives."""
        return list(dict.fromkeys(one.goal for level in self.levels for one in level.goals))

    def against_assertion(self, place: int, finding: Finding) -> BrokenRule | None:
        """Return the turns of the group of *finding* against the assertion at *place*, where it failed."""
        return self.rules.get(assertion_id(place, finding.group))

    def against_objective(self, level: LevelPlayed, objective: ObjectiveResult) -> BrokenRule | None:
        """Return the turns of *level* against *objective*, where it was missed."""
        return self.rules.get(objective_id(level, objective))


def assertions_view(numbers: RunNumbers) -> AssertionsView:
    """Return the view of assertions, objectives and checks, with the turns of those that do not hold."""
    levels = [level.played for level in numbers.load.levels if level.played.goals] if numbers.load else []
    knee = numbers.load.knee if numbers.load else None
    return AssertionsView(
        gate=numbers.gate, levels=levels, limit=_limit(knee) if knee else "", rules=numbers.rules
    )


def objective_value(one: ObjectiveResult) -> str:
    """Return what was measured for an objective."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksByDepth:
    """The checks of one group: a line for each depth, a cell for each column."""

    group: Group
    names: list[str]
    lines: Sequence[tuple[int | None, Sequence[CheckRow | None]]]
    """None for a column that nothing counts in at this depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTotals:
    """All checks of a run: a line for each column of checks, a cell for each group (None without any)."""

    heads: Sequence[str]
    """The groups."""
    lines: Sequence[tuple[str, Sequence[CheckRow | None]]]
    """With some that failed or could not be looked at."""
    passed: Sequence[tuple[str, Sequence[CheckRow | None]]]
    """Without any."""


def check_totals(checks: Checks | None) -> CheckTotals | None:
    """Return a line for each column of checks, over all depths; None without checks."""
    if not checks or not checks.totals:
        return None
    cells = {(row.name, row.group): row for row in checks.totals}
    groups = list(dict.fromkeys(group for _, group in cells))
    lines = [
        (name, [cells.get((name, group)) for group in groups])
        for name in dict.fromkeys(name for name, _ in cells)
    ]
    passed = [
        line
        for line in lines
        if all(not one or not (one.counts.failed or one.counts.unchecked) for one in line[1])
    ]
    return CheckTotals(
        heads=[group_label(group, groups) for group in groups],
        lines=[line for line in lines if line not in passed],
        passed=passed,
    )


def checks_by_depth(checks: Checks | None) -> Iterator[ChecksByDepth]:
    """Yield the checks of each group, apart for each depth; all depths last."""
    rows = checks.rows if checks else ()
    for group in dict.fromkeys(row.group for row in rows):
        cells = {(row.depth, row.name): row for row in rows if row.group == group}
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
