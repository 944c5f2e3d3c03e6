"""
Recall, precision and F1 of claims, from the lists that a judge wrote down.

The rule of the Dataworkz evaluation framework, with the counts taken by us: recall = common / golden,
precision = common / candidate, F1 their harmonic mean; more common claims than candidate ones mean that
there were at least as many candidate claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
        """In [0, 1]; 0 without a candidate claim, as in the framework. None without a golden claim."""
        if not self.golden:
            return None
        candidate = max(self.candidate, self.common)
        return self.common / candidate if candidate else 0.0

    @property
    def f1(self) -> float | None:
        """In [0, 1]; 0 where nothing is common. None without a golden claim."""
        if self.recall is None or self.precision is None:
            return None
        if not self.precision:
            return 0.0
        return 2 * self.recall * self.precision / (self.recall + self.precision)


def count_claims(golden: Iterable[str], candidate: Iterable[str], common: Iterable[str]) -> ClaimCounts:
    """Return the counts of three lists; a repeated claim, ignoring case and spaces, counts once."""
    return ClaimCounts(
        golden=len(distinct(golden)), candidate=len(distinct(candidate)), common=len(distinct(common))
    )


def claims_in(value: object) -> list[str]:
    """
    Return the claims in a list, or in an object that numbers them.

    Raises:
        ValueError: *value* is neither, or holds something else than texts; in words for a judge.
    """
    claims = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(claims, list):
        raise ValueError("is not a list")
    for claim in claims:
        if not isinstance(claim, str):
            raise ValueError(f"holds something that is not a text: {str(claim)[:60]}")
    return claims


def unsupported_claims(golden: Iterable[str], candidate: Iterable[str], common: Iterable[str]) -> list[str]:
    """
    Return those of *common* that are in neither *golden* nor *candidate*, each once.

    Case, spaces and a full stop are ignored.
    """
    listed = {_key(claim) for claim in (*golden, *candidate)}
    return [claim for claim in distinct(common) if _key(claim) not in listed]


def distinct(claims: Iterable[str]) -> Sequence[str]:
    """Return *claims* without empty and repeated ones, in order."""
    kept: dict[str, str] = {}
    for claim in claims:
        if key := _key(claim):
            kept.setdefault(key, claim)
    return tuple(kept.values())


def _key(claim: str) -> str:
    return " ".join(claim.casefold().split()).rstrip(" .")
