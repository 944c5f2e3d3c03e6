"""
What a build fails on: scores that are significantly worse on a comparison's second side, and checks that
newly fail there.

A score is worse where it is lower, or higher where less is better, and significantly so where the p-value is
at most *alpha* after Holm's correction, in all or at one of the depths that were compared. What could not be
compared fails too: a check that silently didn't run is worse than none. And a score of which no difference
could have been significant, however bad, leaves the gate undecided: it could not have fired.

A check fails the gate where it newly fails, or passed and can no longer be looked at: one is enough, and
chance has no say in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.statistics.checks import ChangedCheck
from replay.statistics.comparison import ComparedRow, Comparison, holm
from replay.statistics.group import Group
from replay.statistics.run_comparison import ComparedPair, ComparisonReport

CHECKS = "checks"
"""Among the scores of a gate: the data's checks, one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A score of a group that fails the gate."""

    group: Group
    score: str | None
    """None where the whole group could not be compared."""
    unit: str = ""
    row: ComparedRow | None = None
    """None where there is nothing to compare, for *reason*, or where checks were lost."""
    reason: str | None = None
    checks: tuple[ChangedCheck, ...] = ()
    """Those that newly fail, or passed and are no longer looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Underpowered:
    """A score of which no difference could have been significant here."""

    group: Group
    score: str
    conversations: int
    """Those on both sides."""
    least_p: float
    """The least p after Holm's correction that they allow, were all of them worse."""
    needed: int | None
    """So many would be enough, whatever the other scores are like; None where more swaps have to be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonGate:
    """What became of the scores that were to be no worse."""

    alpha: float
    scores: tuple[str, ...]
    looked_at: int
    """Totals, depths and checks."""
    losses: tuple[Regression, ...]
    powerless: tuple[Underpowered, ...]

    @property
    def holds(self) -> bool:
        """Return whether nothing is lost, as far as the data can tell: see *is_decided*."""
        return not self.losses

    @property
    def is_decided(self) -> bool:
        """Return whether something is lost, or every score could have been found to be."""
        return bool(self.losses) or not self.powerless

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "holds": self.holds,
            "decided": self.is_decided,
            "alpha": self.alpha,
            "scores": list(self.scores),
            "looked_at": self.looked_at,
            "losses": [
                {
                    "group": msgspec.to_builtins(loss.group),
                    "score": loss.score,
                    "reason": loss.reason,
                    "row": loss.row and loss.row.to_json(),
                    "checks": [one.after.title for one in loss.checks],
                }
                for loss in self.losses
            ],
            "powerless": [msgspec.to_builtins(one) for one in self.powerless],
        }


def gate(
    report: ComparisonReport, scores: Sequence[str], *, alpha: float, missing: Sequence[Group] = ()
) -> ComparisonGate:
    """
    Hold *report* against *scores*, which it compares.

    *missing* are groups of the first run that the second one lacks.
    """
    gone = [
        Regression(group=group, score=None, reason=f"{report.runs[0]} has it and {report.runs[1]} doesn't")
        for group in missing
    ]
    compared = [(p.second, one) for p in report.pairs for one in p.comparisons if one.score in scores]
    checked = [pair for pair in report.pairs if CHECKS in scores]
    return ComparisonGate(
        alpha=alpha,
        scores=tuple(scores),
        looked_at=sum(len(one.rows) for _, one in compared) + sum(map(_checks_in_both, checked)),
        losses=(
            *gone,
            *(loss for group, one in compared for loss in _losses(group, one, alpha)),
            *(loss for pair in checked for loss in _lost_checks(pair)),
        ),
        powerless=tuple(_powerless(report, scores, alpha)),
    )


def _checks_in_both(pair: ComparedPair) -> int:
    changed = pair.checks
    return changed.alike + sum(map(len, changed.changes.values())) if changed else 0


def _lost_checks(pair: ComparedPair) -> Iterator[Regression]:
    changed = pair.checks
    if changed is None or not _checks_in_both(pair):
        yield Regression(group=pair.second, score=CHECKS, reason="no check is in both")
        return
    lost = (*changed.newly_failed, *(one for one in changed.no_longer_looked_at if one.before.passed))
    if lost:
        yield Regression(group=pair.second, score=CHECKS, checks=lost)


def _is_worse(one: Comparison, row: ComparedRow) -> bool:
    change = row.difference.value or 0.0
    return change > 0 if one.lower_is_better else change < 0


def _losses(group: Group, one: Comparison, alpha: float) -> Iterator[Regression]:
    if one.total.test is None:
        reason = "no turn has it on both sides, with the same question and gold answers"
        yield Regression(group=group, score=one.score, reason=reason)
        return
    for row in one.rows:
        if _is_worse(one, row) and row.adjusted_p is not None and row.adjusted_p <= alpha:
            yield Regression(group=group, score=one.score, unit=one.unit, row=row)


def _powerless(report: ComparisonReport, scores: Sequence[str], alpha: float) -> Iterator[Underpowered]:
    """Find those of *scores* whose p Holm stays above *alpha* even if all conversations are worse in all."""
    tested = [
        (pair.second, one, row)
        for pair in report.pairs
        for one in pair.comparisons
        if (row := one.total).test is not None
    ]
    # Of n conversations two swaps of 2^n are as far from 0 as can be; of drawn swaps none may be.
    floor = 1 / (1 + report.settings.permutations)
    least = holm([max(2.0 ** (1 - row.difference.conversations), floor) for *_, row in tested])
    for (group, one, row), least_p in zip(tested, least, strict=True):
        if one.score in scores and least_p > alpha:
            yield Underpowered(
                group=group,
                score=one.score,
                conversations=row.difference.conversations,
                least_p=least_p,
                needed=math.ceil(math.log2(2 * len(tested) / alpha))
                if floor * len(tested) <= alpha
                else None,
            )
