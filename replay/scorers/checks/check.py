"""
The protocol of a check: it looks at the answered turns of one play and says what it found.

A turn's check sees that turn alone; one for a conversation's end sees all of the play's answered turns, and
then "some answer" and "no answer" are what "the answer" is to a turn's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from replay.core.record import TurnRecord
from replay.scorers.scorer import Unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What became of one check."""

    passed: bool | None
    """None where it could not be looked at."""
    evidence: str | None = None
    """What was found, in words."""
    reason: str | None = None
    """Why it could not be looked at; short, since reports count equal ones."""
    lacking: bool = False
    """Failed for want of something that a turn which was not asked might have had."""


class Verdicts(Protocol):
    """What judges found about the turns that a check sees."""

    def scores(self, column: str, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """
        Return the values in a judge's *column* for *records*, or the reasons why there are none.

        Of a judge of whole conversations a single one, where it judged them.
        """
        ...

    def rubric(self, judge: str | None, seen: CheckInput) -> CheckOutcome:
        """Return the verdict of *judge*, else the run's only rubric judge, on rubric ``seen.position``."""
        ...


class NoVerdicts:
    """Where nobody has judged."""

    def scores(self, column: str, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return [Unscored(reason="not judged")]

    def rubric(self, judge: str | None, seen: CheckInput) -> CheckOutcome:
        return CheckOutcome(passed=None, reason="not judged")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """What a check looks at."""

    records: tuple[TurnRecord, ...]
    """Answered turns of one play, by depth; a single one unless it is the conversation's end."""
    at_end: bool = False
    position: int = 0
    """Of the check, among its turn's or its conversation's."""
    verdicts: Verdicts = field(default_factory=NoVerdicts)

    @property
    def answers(self) -> list[tuple[int, str]]:
        """Depth and answer of each turn."""
        return [(record.depth, record.answer or "") for record in self.records]

    def place(self, depth: int | None = None) -> str:
        """Return words for the answer at *depth*, for evidence; None stands for none of the answers."""
        if not self.at_end:
            return "the answer"
        return "any answer" if depth is None else f"the answer at depth {depth}"


class Check(Protocol):
    """One expectation, ready to be held against what was answered."""

    def look(self, seen: CheckInput) -> CheckOutcome: ...
