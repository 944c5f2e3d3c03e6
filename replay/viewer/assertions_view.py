"""What had to hold of a run, and whether it did: assertions, and a stress run's objectives level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replay.scenario.assertions.findings import AssertionResult, Finding
from replay.statistics.load.load_level import LevelPlayed, ObjectiveResult
from replay.statistics.load.load_summary import Knee
from replay.viewer.broken_rules import BrokenRule, assertion_id, objective_id
from replay.viewer.numbers import number
from replay.viewer.run_numbers import RunNumbers


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
    """What had to hold, with the turns of what didn't."""
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
