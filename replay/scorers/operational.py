"""
``latency``, ``ttft``, ``prompt_tokens``, ``completion_tokens`` and ``cost``: what an answer took, as the
record has it, so that it stands in the same table by depth as how good it was.

The mean over answered turns, or a quantile of them. A quantile is the middle value at a half, and
otherwise the smallest value with at least that share of the turns at or below it (definition 2 of Hyndman
& Fan, *Sample Quantiles in Statistical Packages*, 1996), so that repeating all turns doesn't move it; the
line below a depth table interpolates and can differ a little where turns are few.

A turn without an answer has no cost of an answer, and an answer from a cache took no time and no money;
its tokens are those that it was made of. Where retries were made, times are the last one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from replay.core.record import TurnRecord
from replay.scorers.reference_score import mean, why_unanswered
from replay.scorers.scorer import Unscored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FROM_CACHE = Unscored(reason="answer from the cache")

Measure = Literal["latency", "ttft", "prompt_tokens", "completion_tokens", "cost"]


_UNITS: dict[Measure, tuple[str, str]] = {
    "latency": ("s", "no latency in the record"),
    "ttft": ("s", "no time of a first token reported"),
    "prompt_tokens": ("tokens", "no prompt tokens reported"),
    "completion_tokens": ("tokens", "no completion tokens reported"),
    "cost": ("usd", "no cost reported"),
}
"""The unit of a measure, and why it may be missing."""


def read_measure(record: TurnRecord, measure: Measure) -> float | None:
    """Return *measure* of the turn in its unit; None where the record doesn't say."""
    timing, usage = record.timing, record.usage
    match measure:
        case "latency":
            return None if timing is None else timing.latency_s
        case "ttft":
            return None if timing is None else timing.ttft_s
        case "cost":
            return record.cost_usd
        case "prompt_tokens" | "completion_tokens":
            return None if usage is None else getattr(usage, measure)


def quantile_of(values: Iterable[float], share: float) -> float:
    """
    Return the quantile at *share* (0 to 1) of *values*, in any order.

    ``quantile_of([1, 2, 3, 4], 0.5)`` is 2.5, at 0.95 it is 4.

    Raises:
        ValueError: *values* is empty.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no observation to combine")
    # As a decimal: 0.07 of 100 values are 7, not 7.000000000000001.
    below = Fraction(str(share)) * len(ordered)
    place = min(int(below), len(ordered) - 1)
    if below == place and place > 0:
        return (ordered[place - 1] + ordered[place]) / 2
    return ordered[place]


RESAMPLED_AT_ONCE = 4_000_000
"""Weights held at a time while quantiles are resampled."""


def resampled_quantiles(
    ordered: NDArray[np.float64], weights: NDArray[np.float64], share: float
) -> NDArray[np.float64]:
    """
    Return ``quantile_of`` the *ordered* values, value i being there ``weights[r, i]`` times in row r.

    NaN where a row has no value.
    """
    import numpy as np

    exact = Fraction(str(share))
    upto = np.cumsum(weights, axis=1).astype(np.int64)
    counts = upto[:, -1]
    below, rest = np.divmod(exact.numerator * counts, exact.denominator)
    place = np.minimum(below, counts - 1)
    between = (below == place) & (rest == 0) & (place > 0)

    def value_at(wanted: NDArray[np.int64]) -> Any:
        # As many values stand before place *wanted* as sums reach up to it.
        return ordered[np.minimum((upto <= wanted[:, None]).sum(axis=1), len(ordered) - 1)]

    found = np.where(between, (value_at(place - 1) + value_at(place)) / 2, value_at(place))
    quantiles: NDArray[np.float64] = np.where(counts > 0, found, np.nan)
    return quantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Operational:
    """Mean or quantile over answered turns of one measure, in its unit, at least 0."""

    measure: Measure
    quantile: float | None = None
    """From 0 to 1, such as 0.5 or 0.95; None for the mean."""

    def __post_init__(self) -> None:
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            raise ValueError(f"quantile: {self.quantile} is not between 0 and 1")

    @property
    def is_mean(self) -> bool:
        return self.quantile is None

    @property
    def unit(self) -> str:
        return _UNITS[self.measure][0]

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        return [self._observe(record) for record in records]

    def _observe(self, record: TurnRecord) -> float | Unscored:
        if (why := why_unanswered(record)) is not None:
            return why
        unit, missing = _UNITS[self.measure]
        if record.cached and unit != "tokens":
            return FROM_CACHE
        value = read_measure(record, self.measure)
        return Unscored(reason=missing) if value is None else float(value)

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed) if self.quantile is None else quantile_of(observed, self.quantile)

    def combine_resampled(
        self, observed: Sequence[float], clusters: Sequence[int], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        import numpy as np

        assert self.quantile is not None  # means are resampled without asking their scorers
        if not len(weights):
            return np.empty(0)
        values = np.asarray(observed, dtype=np.float64)
        order = np.argsort(values, kind="stable")
        places = np.asarray(clusters)[order]
        rows = max(1, RESAMPLED_AT_ONCE // len(values))
        return np.concatenate(
            [
                resampled_quantiles(values[order], weights[start : start + rows, places], self.quantile)
                for start in range(0, len(weights), rows)
            ]
        )

    @property
    def signature(self) -> str:
        how = "mean" if self.quantile is None else f"q{self.quantile:g}"
        return f"{self.measure}:{how}|unit:{self.unit}"


def latency(quantile: float | None = None) -> Operational:
    """Return the scorer ``latency``: seconds from sending a question to the answer's last byte."""
    return Operational(measure="latency", quantile=quantile)


def ttft(quantile: float | None = None) -> Operational:
    """Return the scorer ``ttft``: seconds from sending a question to the answer's first token."""
    return Operational(measure="ttft", quantile=quantile)


def prompt_tokens(quantile: float | None = None) -> Operational:
    """Return the scorer ``prompt_tokens``: tokens read for a turn, as the system counts them."""
    return Operational(measure="prompt_tokens", quantile=quantile)


def completion_tokens(quantile: float | None = None) -> Operational:
    """Return the scorer ``completion_tokens``: tokens written for a turn, as the system counts them."""
    return Operational(measure="completion_tokens", quantile=quantile)


def cost(quantile: float | None = None) -> Operational:
    """Return the scorer ``cost``: US dollars for a turn, as the endpoint says or as prices give them."""
    return Operational(measure="cost", quantile=quantile)
