"""A run's verdicts, read again as columns of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from replay.scorers.judges.tally import Judged
from replay.scorers.reference_score import mean
from replay.scorers.scorer import Unscored
from replay.store.store import RunStore

if TYPE_CHECKING:
    from replay.core.record import TurnRecord


JUDGED = "judged"
"""The fact of a run that holds a ``Judged`` for each judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictScores:
    """One column of a judge, as a scorer: its observations were made by asking, and are read."""

    judged_by: str
    """The judge's signature."""
    unit: str

    @property
    def is_mean(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """Nothing: a judge has to be asked, with ``replay score --judge``."""
        return [Unscored(reason="not judged")] * len(records)

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        return self.judged_by


def judged_of(store: RunStore) -> list[Judged]:
    """What *store* keeps of its judges, in order."""
    return [msgspec.convert(one, Judged) for one in store.fact(JUDGED) or []]


def verdict_scores(store: RunStore) -> dict[str, VerdictScores]:
    """The judges' columns as scorers, by the column's name."""
    return {
        column: VerdictScores(judged_by=one.signature, unit=unit)
        for one in judged_of(store)
        for column, unit in one.units.items()
    }
