"""
Checks of what is known of an answer beside its words: ``drifts``, the verdict on its question;
``latency_below_s`` and ``ttft_below_s``, what it took, as the scorers ``latency`` and ``ttft``; ``rubric``
and ``judge``, what judges found. Asking judges is not a check's business: they are a scenario's, are asked
after scoring, and what they found is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from replay.core.expectation import NO_TIMES
from replay.core.settings.choice import PositiveSeconds
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.operational import Operational
from replay.scorers.scorer import Unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """A judge says that the answer, or the conversation, does what the rubric says."""

    text: str
    judge: str | None = None
    """Its name in the scenario; the only judge of rubrics where this is left out."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("is empty; say what the answer has to do")

    def look(self, seen: CheckInput) -> CheckOutcome:
        return seen.verdicts.rubric(self.judge, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedValue:
    """A judge's number is within bounds; of a judge of turns, at a conversation's end, every turn's."""

    name: str
    column: str | None = None
    """One of its numbers, where it gives several: ``coherence`` of ``geval.coherence``."""
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise ValueError("asks for nothing; give at_least, at_most or both")

    @property
    def full_name(self) -> str:
        """The number's column in tables."""
        return f"{self.name}.{self.column}" if self.column else self.name

    def look(self, seen: CheckInput) -> CheckOutcome:
        values = seen.verdicts.scores(self.full_name, seen.records)
        for value in values:
            if isinstance(value, Unscored):
                return CheckOutcome(passed=None, reason=value.reason)
        numbers = [value for value in values if not isinstance(value, Unscored)]
        outside = [n for n in numbers if not self._within(n)]
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        wanted = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        shown = ", ".join(f"{n:.4g}" for n in outside or numbers)
        evidence = f"{self.full_name} {shown}; expected {wanted}" if outside else f"{self.full_name} {shown}"
        of_all = len(values) < len(seen.records)  # a skipped turn may have cost the conversation its number
        return CheckOutcome(passed=not outside, evidence=evidence, lacking=bool(outside) and of_all)

    def _within(self, number: float) -> bool:
        low = self.at_least is None or number >= self.at_least
        return low and (self.at_most is None or number <= self.at_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifts:
    """Some question was found to have lost its meaning, or none was."""

    wanted: bool

    def look(self, seen: CheckInput) -> CheckOutcome:
        verdicts = [record.drift.valid if record.drift is not None else None for record in seen.records]
        if None in verdicts:
            return CheckOutcome(passed=None, reason="drift was not judged")
        drifted = False in verdicts
        found = "no longer means" if drifted else "still means"
        return CheckOutcome(passed=drifted is self.wanted, evidence=f"the question {found} the same")


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """Every answer took less than so many seconds."""

    measure: Literal["latency", "ttft"]
    limit_s: float

    def look(self, seen: CheckInput) -> CheckOutcome:
        if any(record.cached for record in seen.records):
            return CheckOutcome(passed=None, reason=NO_TIMES)
        values = Operational(measure=self.measure).observe(seen.records)
        taken: list[tuple[float, int]] = []
        for record, value in zip(seen.records, values, strict=True):
            if isinstance(value, Unscored):
                return CheckOutcome(passed=None, reason=value.reason)
            taken.append((value, record.depth))
        slowest, depth = max(taken)
        place = f" at depth {depth}, the slowest" if seen.at_end else ""
        return CheckOutcome(passed=slowest < self.limit_s, evidence=f"{self.measure} {slowest:.3f} s{place}")


def latency_below_s(limit_s: PositiveSeconds) -> Below:
    """``latency_below_s``: seconds from sending the question to the answer's end."""
    return Below(measure="latency", limit_s=limit_s)


def ttft_below_s(limit_s: PositiveSeconds) -> Below:
    """``ttft_below_s``: seconds from sending the question to the first token."""
    return Below(measure="ttft", limit_s=limit_s)
