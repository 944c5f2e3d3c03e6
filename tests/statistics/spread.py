"""A scorer whose number is no mean, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.core.record import TurnRecord
from replay.scorers.scorer import Unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestAnswer:
    """Characters of the longest answer."""

    def observe(self, records: Sequence[TurnRecord]) -> list[int | Unscored]:
        return [Unscored(reason="no answer") if r.answer is None else len(r.answer) for r in records]

    def combine(self, observed: Iterable[int]) -> float:
        return float(max(observed))

    @property
    def signature(self) -> str:
        return "longest:characters"
