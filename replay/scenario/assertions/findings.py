"""
What became of an assertion: for each system and policy whether it holds, the number and the bound.

The number that an assertion on pass^k or pass@k is about, and the plays that speak against it.

What an assertion on a column of checks has to say beside the number: what could not be looked at, and which
checks failed.

The number is a share of the turns that were looked at, so a system that answers three turns and then breaks
down could have all of them. What could not be looked at therefore fails the assertion, unless the scenario
says of how large a share that may hold (``max_unchecked``): of questions that the policy ``filter`` skips.
Times of answers that came from a cache are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from replay.core.expectation import NO_TIMES, CheckResult
from replay.core.record import TurnRecord
from replay.scenario.assertions.section import Assertion, PassMetric
from replay.scorers.scorer import Unscored
from replay.statistics.checks import CheckCounts, reasons_text
from replay.statistics.estimate import Estimate, Resampling, estimate_cells
from replay.statistics.group import Group
from replay.statistics.pass_curves import Case, Plays, of_cases, outcomes, pass_column, says_yes_or_no
from replay.statistics.score_column import ScoreColumn


class NotEvaluatedError(Exception):
    """Why an assertion can't be held against a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One system under one policy."""

    group: Group
    holds: bool
    value: float | None = None
    """The number, or by how much it changed since the other run; None where *reason* says why."""
    low: float | None = None
    high: float | None = None
    """Its interval; None where there is none."""
    bound: float | None = None
    """What *value* was held against; a change is negative where the number fell."""
    turns: int = 0
    """Turns that have a part in the number."""
    conversations: int = 0
    before: float | None = None
    """The other run's number on the same turns."""
    after: float | None = None
    p: float | None = None
    """Of the paired permutation test that ``replay compare`` makes."""
    reason: str | None = None
    """Why it could not be evaluated, which fails it."""
    remark: str | None = None
    """What a reader should know beside the number."""
    against: tuple[tuple[str, int], ...] = ()
    """Conversation and depth of the turns that pull a failing number beyond its bound: those that break it
    themselves or, compared with another run, were worse than there; all of its turns where none is so."""
    cases_against: tuple[str, ...] = ()
    """Of several plays: the turns or conversations that do so, each in a line that names the plays."""
    unchecked: int = 0
    """Of a column of checks: those that could not be looked at, beside the number."""
    failed_checks: tuple[str, ...] = ()
    """Of a column of checks: what failed on those turns, each in a line."""

    @property
    def summary(self) -> str:
        """The number, how it stands to its bound, and what it rests on, in one line."""
        if self.value is None or self.bound is None:
            said = f"could not be evaluated: {self.reason}"
            return said if self.remark is None else f"{said}; {self.remark}"
        signed = "+" if self.p is not None else ""
        said = _number(self.value, signed)
        if self.low is not None and self.high is not None:
            said += f" [{_number(self.low, signed)}, {_number(self.high, signed)}]"
        if self.before is not None and self.after is not None:
            said += f" (from {_number(self.before)} to {_number(self.after)}, p = {self.p:.2g})"
        far = abs(self.value - self.bound)
        side = "at" if far == 0 else f"{_number(far)} {'above' if self.value > self.bound else 'below'}"
        said += f", {side} the bound {_number(self.bound, signed)}"
        turns = f"{self.turns:,} turn{'' if self.turns == 1 else 's'}"
        said += f", on {turns} of {self.conversations:,} conversation{'' if self.conversations == 1 else 's'}"
        return said if self.remark is None else f"{said}; {self.remark}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON, without the turns."""
        left_out = ("group", "against")
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in left_out}
        return {"system": self.group.system, "policy": self.group.policy, **values}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionResult:
    """An assertion with what was found; it holds if it holds everywhere."""

    assertion: Assertion
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        return all(finding.holds for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "assertion": self.assertion.title,
            "holds": self.holds,
            "findings": [finding.to_json() for finding in self.findings],
        }


def _number(value: float, sign: str = "") -> str:
    return format(value, f"{sign}.4g")


def pass_estimate(
    records: Sequence[TurnRecord],
    column: ScoreColumn,
    cell: Sequence[int],
    asked: PassMetric,
    drawn: Resampling,
) -> tuple[Estimate, str | None]:
    """
    Estimate pass^k or pass@k, as *asked*, from the *records* at *cell*.

    The turns that the estimate counts are those of the data, whatever the number of plays.

    Args:
        column: The score of each record.
        cell: Indexes of the records to count.
        drawn: The resampled conversations of *records*.

    Returns:
        The estimate with its interval, and a note on cases with fewer than k plays, or None.

    Raises:
        NotEvaluatedError: the score is not a yes or no, or nothing has as many as k plays.
    """
    if not says_yes_or_no(column):
        raise NotEvaluatedError(f"{asked.score} is more than a yes or no, so that no play of it passes")
    every = outcomes(records, column, cell)
    cases = _plays_of_level(every, asked)
    of_plays = pass_column(cases.values(), asked.kind, asked.k)
    drawn = of_cases(drawn, records, list(cases))
    ((found,), _) = estimate_cells(of_plays, [range(len(cases))], drawn)
    noun = "conversation" if asked.whole else "turn"
    if not found.scored:
        raise NotEvaluatedError(f"no {noun} has {asked.k} plays with a score")
    left_out = len(cases) - found.scored
    if asked.whole:
        counted = {name for name, depth in cases if len(cases[name, depth]) >= asked.k}
        turns = [name for name, depth in every if depth is not None and name in counted]
        found = replace(found, scored=len(turns) or found.scored)  # a simulated one has no such turns
    nouns = noun if left_out == 1 else f"{noun}s"
    return found, f"{left_out:,} {nouns} left out with fewer than {asked.k} plays" if left_out else None


def plays_against(
    records: Sequence[TurnRecord],
    column: ScoreColumn,
    cell: Sequence[int],
    asked: PassMetric,
    bound: float,
    *,
    low: bool,
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """
    Return the evidence that the number is too *low* for *bound*, or else too high.

    Args:
        column: The score of each record.
        cell: Indexes of the records to count.
        bound: The least value that is allowed if *low*, else the greatest.

    Returns:
        The turns as conversation and depth: those that were missed or, if the number is too high, passed; and
            a line for each case beyond the bound, farthest first.
    """
    cases = _plays_of_level(outcomes(records, column, cell), asked)
    values = dict(zip(cases, pass_column(cases.values(), asked.kind, asked.k).observed, strict=True))
    beyond = [
        case
        for case, value in values.items()
        if not isinstance(value, Unscored) and (value < bound if low else value > bound)
    ]
    turns = []
    for index in filter(column.is_scored, cell):
        one, passed = records[index], column.observed[index] == 1
        case = one.recorded_conversation, None if asked.whole else one.depth
        if case in beyond and passed is cases[case].get(one.repeat) is (not low):
            turns.append((one.conversation, one.depth))
    beyond.sort(key=lambda case: values[case], reverse=not low)
    return tuple(turns), tuple(_describe_case(case, cases[case], low=low) for case in beyond)


def _plays_of_level(every: Mapping[Case, Plays], asked: PassMetric) -> dict[Case, Plays]:
    return {case: plays for case, plays in every.items() if (case[1] is None) == asked.whole}


def _describe_case(case: Case, plays: Plays, *, low: bool) -> str:
    """``depth 2 of mill: passed in 2 of 4 plays, not in plays 2, 4``; too high: in which it did."""
    conversation, depth = case
    name = conversation if depth is None else f"depth {depth} of {conversation}"
    found = [str(repeat) for repeat in sorted(plays) if plays[repeat] is not low]
    listed = f"play{'' if len(found) == 1 else 's'} {', '.join(found)}"
    of = f"{name}: passed in {sum(plays.values())} of {len(plays)} plays"
    return f"{of}, not in {listed}" if low else f"{of}: in {listed}"


def with_checks(finding: Finding, one: Assertion, checks: Iterable[CheckResult]) -> Finding:
    """
    Return *finding* with the failed checks behind it, and with those that could not be made.

    It no longer holds if more checks were not made than ``max_unchecked`` allows.

    Args:
        one: The finding's assertion.
        checks: All checks of the run; those of other columns, groups and depths are ignored.
    """
    held = [
        check
        for check in checks
        if one.score in check.columns
        and check.depth in one.depth
        and Group(check.system, check.policy) == finding.group
    ]
    against = set(finding.against)
    failed = tuple(
        _title(check)
        for check in held
        if check.passed is False and (check.conversation, check.depth) in against
    )
    counts = CheckCounts()
    for check in held:
        counts.add(check)
    unchecked = counts.unchecked.total()
    if not unchecked:
        return replace(finding, failed_checks=failed)
    # Whoever has answers kept from run to run wants no times of them: said, and no breakdown.
    too_many = (unchecked - counts.unchecked[NO_TIMES]) / counts.all > one.max_unchecked
    said = f"{unchecked:,} of {counts.all:,} checks could not be looked at ({reasons_text(counts.unchecked)})"
    if too_many:
        said += f", more than max_unchecked allows ({one.max_unchecked:g})"
    return replace(
        finding,
        holds=finding.holds and not too_many,
        unchecked=unchecked,
        remark=said if finding.remark is None else f"{finding.remark}; {said}",
        failed_checks=failed,
    )


def _title(check: CheckResult) -> str:
    """Return the check's title; of one of calls with what was called, or nobody sees what went wrong."""
    called = (check.evidence or "").partition("; expected ")[0]
    return f"{check.title}; {called}" if check.kind == "calls" and called else check.title
