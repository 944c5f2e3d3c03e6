"""
``rubric`` and ``judge``: what judges found. Asking them is not a check's business: they are a scenario's, are
asked after scoring, and what they found is read here.
"""

from __future__ import annotations

from dataclasses import dataclass

from replay.scorers.checks.check import CheckInput, CheckOutcome
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
    at_least: float | None
    at_most: float | None
    column: str | None = None
    """One of its numbers, where it gives several: ``coherence`` of ``geval.coherence``."""

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


def rubric(text: str, judge: str | None = None) -> Rubric:
    """``rubric``: a judge of the kind ``rubric`` says yes."""
    return Rubric(text=text, judge=judge)


def judge(
    name: str, column: str | None = None, at_least: float | None = None, at_most: float | None = None
) -> JudgedValue:
    """``judge``: a judge's number is within bounds."""
    if at_least is None and at_most is None:
        raise ValueError("asks for nothing; give at_least, at_most or both")
    return JudgedValue(name=name, column=column, at_least=at_least, at_most=at_most)
