"""
Recall, precision and F1 of claims, from the lists that a judge wrote down.

The rule of the Dataworkz evaluation framework, with the counts taken by us: recall = common / golden,
precision = common / candidate, F1 their harmonic mean; more common claims than candidate ones mean that
there were at least as many candidate claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCounts:
    """Claims of the gold answer, of the candidate answer, and those that both make."""

    golden: int
    candidate: int
    common: int

    @property
    def recall(self) -> float | None:
        """In [0, 1]; None without a golden claim. More common claims than golden ones count as all."""
        return min(self.common / self.golden, 1.0) if self.golden else None

    @property
    def precision(self) -> float | None:
        """In [0, 1]; None if there is no candidate claim."""
        candidate = max(self.candidate, self.common)
        return self.common / candidate if candidate else None

    @property
    def f1(self) -> float | None:
        """In [0, 1]; 0 where nothing is common. None without a golden claim."""
        if self.recall is None:
            return None
        if not self.precision:
            return 0.0
        return 2 * self.recall * self.precision / (self.recall + self.precision)


def count_claims(golden: Iterable[str], candidate: Iterable[str], common: Iterable[str]) -> ClaimCounts:
    """The counts of three lists; a claim that is listed twice, but for case and spaces, counts once."""
    return ClaimCounts(
        golden=len(distinct(golden)), candidate=len(distinct(candidate)), common=len(distinct(common))
    )


def distinct(claims: Iterable[str]) -> Sequence[str]:
    """*claims* without empty and repeated ones, in order."""
    kept: dict[str, str] = {}
    for claim in claims:
        if words := " ".join(claim.casefold().split()):
            kept.setdefault(words, claim)
    return tuple(kept.values())
