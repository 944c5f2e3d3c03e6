"""
Metrics that need no scorer, for assertions: what the endpoint did, read off the records.

``errors`` is the share of asks that brought no answer and ``invalid`` the share of questions whose meaning
changed under the system's own history. ``latency_p95_s`` and its like are quantiles as the scorers
``latency`` and ``ttft`` take them, over answered turns. ``cost_usd`` is the sum over the turns, not their
mean: it stands for a budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from replay.core.record import TurnRecord
from replay.scorers.operational import Operational
from replay.scorers.reference_score import mean
from replay.scorers.scorer import SHARE, Scorer, Unscored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOfTurns:
    """The share of turns of which something holds, in [0, 1]."""

    name: str
    holds: Callable[[TurnRecord], bool | Unscored]

    @property
    def is_mean(self) -> bool:
        return True

    @property
    def lower_is_better(self) -> bool:
        return True

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        found = map(self.holds, records)
        return [one if isinstance(one, Unscored) else float(one) for one in found]

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        return f"{self.name}:share"


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalCost:
    """US dollars for all turns together, as the adapter reckons them."""

    @property
    def unit(self) -> str:
        return "usd"

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return [
            Unscored(reason="no cost reported") if record.cost_usd is None else record.cost_usd
            for record in records
        ]

    def combine(self, observed: Iterable[float]) -> float:
        values = list(observed)
        if not values:
            raise ValueError("no observation to combine")
        return math.fsum(values)

    def combine_resampled(
        self, observed: Sequence[float], clusters: Sequence[int], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        import numpy as np

        sums = np.zeros(weights.shape[1])
        np.add.at(sums, list(clusters), list(observed))
        totals: NDArray[np.float64] = weights @ sums
        return totals

    @property
    def signature(self) -> str:
        return "cost:sum|unit:usd"


def _failure_share(record: TurnRecord) -> bool | Unscored:
    return Unscored(reason="skipped") if record.outcome == "skipped" else record.failed


def _invalid(record: TurnRecord) -> bool | Unscored:
    if record.drift is None:
        return Unscored(reason="histories were not compared")
    if record.drift.valid is None:
        return Unscored(reason=record.drift.kind_not_judged)
    return record.drift.invalid


_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

OPERATIONAL_METRICS: Mapping[str, Scorer[Any]] = {
    "errors": ShareOfTurns(name="errors", holds=_failure_share),
    "invalid": ShareOfTurns(name="invalid", holds=_invalid),
    **{
        f"{measure}_{name}_s": Operational(measure=measure, quantile=share)
        for measure in ("latency", "ttft")
        for name, share in _QUANTILES.items()
    },
    "cost_usd": TotalCost(),
}
"""By what they are called in an assertion. A scorer or judge of the same name comes first."""

UNITS: Mapping[str, str] = {
    name: getattr(scorer, "unit", SHARE) for name, scorer in OPERATIONAL_METRICS.items()
}
"""What each counts in."""
