"""
What became of an assertion: for each system and policy whether it holds, the number and the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replay.scenario.assertions.section import Assertion
from replay.statistics.group import Group


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
