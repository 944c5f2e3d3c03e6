"""
What a build fails on: scores that are significantly worse on a comparison's second side.

A score is worse where it is lower, or higher where less is better, and significantly so where the p-value is
at most *alpha* after Holm's correction, in all or at one of the depths that were compared. What could not be
compared fails too: a check that silently didn't run is worse than none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.statistics.comparison import ComparedRow, Comparison
from replay.statistics.group import Group
from replay.statistics.run_comparison import ComparisonReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A score of a group that fails the gate."""

    group: Group
    score: str | None
    """None where the whole group could not be compared."""
    unit: str = ""
    row: ComparedRow | None = None
    """None where there is nothing to compare, for *reason*."""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Powerless:
    """A score that is worse, but on too few conversations for this comparison to find it significant."""

    group: Group
    score: str
    conversations: int
    """Those that differ."""
    needed: int
    """So many, all worse, would be enough whatever the other scores are like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What became of the scores that were to be no worse."""

    alpha: float
    scores: tuple[str, ...]
    looked_at: int
    """Totals and depths."""
    losses: tuple[Loss, ...]
    powerless: tuple[Powerless, ...]

    @property
    def holds(self) -> bool:
        return not self.losses

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "holds": self.holds,
            "alpha": self.alpha,
            "scores": list(self.scores),
            "looked_at": self.looked_at,
            "losses": [
                {
                    "group": msgspec.to_builtins(loss.group),
                    "score": loss.score,
                    "reason": loss.reason,
                    "row": loss.row and loss.row.to_json(),
                }
                for loss in self.losses
            ],
            "powerless": [msgspec.to_builtins(one) for one in self.powerless],
        }


def gate(
    report: ComparisonReport, scores: Sequence[str], *, alpha: float, missing: Sequence[Group] = ()
) -> Gate:
    """
    Hold *report* against *scores*, which it compares.

    *missing* are groups of the first run that the second one lacks.
    """
    gone = [
        Loss(group=group, score=None, reason=f"{report.runs[0]} has it and {report.runs[1]} doesn't")
        for group in missing
    ]
    compared = [(p.second, one) for p in report.pairs for one in p.comparisons if one.score in scores]
    return Gate(
        alpha=alpha,
        scores=tuple(scores),
        looked_at=sum(len(one.rows) for _, one in compared),
        losses=(*gone, *(loss for group, one in compared for loss in _losses(group, one, alpha))),
        powerless=tuple(
            found
            for group, one in compared
            if (found := _powerless(group, one, alpha, report.tests["totals"]))
        ),
    )


def _is_worse(one: Comparison, row: ComparedRow) -> bool:
    change = row.difference.value or 0.0
    return change > 0 if one.lower_is_better else change < 0


def _losses(group: Group, one: Comparison, alpha: float) -> Iterator[Loss]:
    if one.total.test is None:
        reason = "no turn has it on both sides, with the same question and gold answers"
        yield Loss(group=group, score=one.score, reason=reason)
        return
    for row in one.rows:
        if _is_worse(one, row) and row.adjusted_p is not None and row.adjusted_p <= alpha:
            yield Loss(group=group, score=one.score, unit=one.unit, row=row)


def _powerless(group: Group, one: Comparison, alpha: float, tests: int) -> Powerless | None:
    row = one.total
    if row.test is None or row.adjusted_p is None or row.adjusted_p <= alpha or not _is_worse(one, row):
        return None
    # Of n conversations two swaps of 2^n are as far from 0 as can be; Holm takes the least p times all tests.
    needed = math.ceil(math.log2(2 * tests / alpha))
    if (differing := row.test.conversations) >= needed:
        return None
    return Powerless(group=group, score=one.score, conversations=differing, needed=needed)
