"""
What came of the measured asks of a level, or of one system, policy and depth in it: counts, percentiles of
durations, and the scores of many such cells with intervals.

Percentiles are exact from the durations themselves, or from a histogram where only that was kept. Scores are
estimated as in the depth table. As everywhere, conversations of the data are resampled, with all their
plays; level and first level see the same resample, so that their difference is paired.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from replay.core.record import TOKEN_GAP_S
from replay.statistics.estimate import Estimate, Resampling, Samples, estimate_cells
from replay.statistics.interval import scale_of
from replay.statistics.load.asks import OUTCOMES, Asks
from replay.statistics.load.histogram import DurationHistogram
from replay.statistics.resampling import WeightBlocks
from replay.statistics.score_column import Positions, ScoreColumn

SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)


class Durations(Protocol):
    """Durations in whatever form they were kept; ``histogram.py`` counts them in buckets."""

    @property
    def count(self) -> int: ...

    def quantiles(self, shares: Sequence[float]) -> list[float] | None:
        """Return the quantiles in seconds; None if there is no duration."""
        ...

    def mean_s(self) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Of durations in seconds."""

    count: int
    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    p99_9_s: float
    max_s: float
    exact: bool = True
    """False where some come from a histogram: within 0.1 % then."""


class KeptDurations:
    """One by one, NaN left out. As ``numpy.quantile`` interpolates."""

    def __init__(self, durations_s: NDArray[np.floating[Any]]) -> None:
        self.known_s: NDArray[np.floating[Any]] = durations_s[~np.isnan(durations_s)]

    @property
    def count(self) -> int:
        return len(self.known_s)

    def quantiles(self, shares: Sequence[float]) -> list[float] | None:
        found: list[float] = np.quantile(self.known_s, shares).tolist() if self.count else []
        return found or None

    def mean_s(self) -> float | None:
        return float(self.known_s.mean(dtype=np.float64)) if self.count else None


class CountedDurations:
    """Whole numbers of *unit_s* seconds that were seen as often as *counts* says; interpolated alike."""

    def __init__(self, counts: Mapping[int, int], unit_s: float) -> None:
        self._durations = np.array(sorted(counts), dtype=np.int64)
        self._times = np.array([counts[one] for one in self._durations.tolist()], dtype=np.int64)
        self._unit_s = unit_s

    @property
    def count(self) -> int:
        return int(self._times.sum())

    def quantiles(self, shares: Sequence[float]) -> list[float] | None:
        if not self.count:
            return None
        ends = np.cumsum(self._times)
        places = np.array(shares) * (self.count - 1)
        below = np.floor(places).astype(np.int64)
        low = self._durations[np.searchsorted(ends, below, side="right")]
        above = np.minimum(below + 1, self.count - 1)
        high = self._durations[np.searchsorted(ends, above, side="right")]
        values: list[float] = ((low + (high - low) * (places - below)) * self._unit_s).tolist()
        return values

    def mean_s(self) -> float | None:
        total = (self._durations * self._times).sum()
        return float(total / self.count * self._unit_s) if self.count else None


def percentiles(durations: Durations) -> Percentiles | None:
    """Return the percentiles of *durations*; None if there are none."""
    values, mean_s = durations.quantiles([*SHARES, 1.0]), durations.mean_s()
    if values is None or mean_s is None:
        return None
    p50, p90, p95, p99, p99_9, longest = values
    return Percentiles(
        count=durations.count,
        mean_s=mean_s,
        p50_s=p50,
        p90_s=p90,
        p95_s=p95,
        p99_s=p99,
        p99_9_s=p99_9,
        max_s=longest,
        exact=isinstance(durations, KeptDurations | CountedDurations),
    )


def asks_needed(share: float) -> int:
    """Return how many asks a percentile takes to mean something: ten that lie beyond it."""
    return math.ceil(round(10 / (1 - share), 6))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTally:
    """Measured asks of a level that were not kept one by one, of one system, policy and depth."""

    level: int
    """The level's position."""
    group: int
    """The group's position."""
    depth: int
    turns: int
    outcomes: Mapping[str, int]
    durations: Mapping[str, DurationHistogram]
    """Of the answers: ``latency``, ``response`` and ``ttft``, those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCell:
    """Durations are those of answers; asks that failed are in ``outcomes``."""

    turns: int
    """Asked, tallied ones included."""
    outcomes: Mapping[str, int]
    """Turns by outcome, most first."""
    tallied: int = 0
    """Turns kept only as counts and histograms; the tokens and scores lack them."""
    retried: int = 0
    """Turns that took more than one attempt; their durations are those of the last one."""
    latency: Percentiles | None = None
    """Sent to last byte."""
    response: Percentiles | None = None
    """Due to last byte, which a system that stalls can't keep low by not being asked."""
    ttft: Percentiles | None = None
    """Sent to first token."""
    inter_token: Percentiles | None = None
    """Between the pieces of an answer, all pieces of all answers alike."""
    time_per_token: Percentiles | None = None
    """Of each answer: its time per token after the first, to the last one."""
    time_per_token_to_done: Percentiles | None = None
    """The same to the last byte."""
    server_share: float | None = None
    """Of answers whose server says what it took: that, of their latency; the rest is network and client."""
    scores: Mapping[str, Estimate] = field(default_factory=dict)
    score_drops: Mapping[str, Estimate] = field(default_factory=dict)
    """How much less each score is than at the first level; conversations resampled alike for both."""

    @property
    def answered_turns(self) -> int:
        return self.outcomes.get("answered", 0)

    @property
    def failed_turns(self) -> int:
        """Turns asked without getting an answer."""
        return self.turns - self.answered_turns

    @property
    def error_share(self) -> float | None:
        return self.failed_turns / self.turns if self.turns else None


class AnswerTimes:
    """Of the answers among the asks at the positions *chosen*; *tallies* and *gaps* as for ``load_cell``."""

    def __init__(
        self,
        asks: Asks,
        chosen: NDArray[np.intp],
        *,
        tallies: Sequence[LoadTally],
        gaps: Iterable[Mapping[int, int]],
    ) -> None:
        self._answers = picked_asks(asks, chosen[asks.is_answered[chosen]])
        self._tallies = tallies
        self._gaps = gaps

    def of(self, measure: str) -> Durations:
        """``latency``, ``response``, ``ttft``, ``itl`` (between tokens), ``tpot`` or ``tpot_done``."""
        if measure == "itl":
            counted: Counter[int] = Counter()
            for one in self._gaps:
                counted.update(one)
            return CountedDurations(counted, TOKEN_GAP_S)
        kept = KeptDurations(getattr(self._answers, f"{measure}_s"))
        kept_apart = [tally.durations[measure] for tally in self._tallies if measure in tally.durations]
        if not kept_apart:
            return kept
        whole = DurationHistogram()
        whole.record_all(kept.known_s)
        for histogram in kept_apart:
            whole.merge(histogram)
        return whole


def load_cell(
    asks: Asks,
    chosen: NDArray[np.intp],
    *,
    tallies: Sequence[LoadTally] = (),
    gaps: Sequence[Mapping[int, int]] = (),
    scores: Mapping[str, Estimate] | None = None,
    score_drops: Mapping[str, Estimate] | None = None,
) -> LoadCell:
    """
    Return the numbers of the asks at the indices *chosen*, with their *tallies* and token *gaps*.

    Where some are only tallied, kept durations go into a histogram too.
    """
    outcome = asks.outcome[chosen]
    outcomes = Counter({OUTCOMES[code]: int(n) for code, n in enumerate(np.bincount(outcome)) if n})
    for tally in tallies:
        outcomes.update(tally.outcomes)
    times = AnswerTimes(asks, chosen, tallies=tallies, gaps=gaps)
    tallied = sum(tally.turns for tally in tallies)
    return LoadCell(
        turns=len(chosen) + tallied,
        outcomes=dict(sorted(outcomes.items(), key=lambda item: (-item[1], item[0]))),
        tallied=tallied,
        retried=int((asks.attempts[chosen] > asks.asks[chosen]).sum()),
        latency=percentiles(times.of("latency")),
        response=percentiles(times.of("response")),
        ttft=percentiles(times.of("ttft")),
        inter_token=percentiles(times.of("itl")),
        time_per_token=percentiles(times.of("tpot")),
        time_per_token_to_done=percentiles(times.of("tpot_done")),
        server_share=_server_share(picked_asks(asks, chosen)),
        scores=scores or {},
        score_drops=score_drops or {},
    )


def _server_share(asks: Asks) -> float | None:
    told = asks.is_answered & ~np.isnan(asks.server_s)
    latency_s = asks.latency_s[told]
    whole_s = float(latency_s.sum())
    return float(np.minimum(asks.server_s[told], latency_s).sum()) / whole_s if whole_s else None


def picked_asks(asks: Asks, chosen: NDArray[np.intp]) -> Asks:
    """Return the asks at the indices *chosen*, without token gaps."""
    columns: dict[str, Any] = {
        name: column[chosen]
        for name in Asks.__slots__
        if isinstance(column := getattr(asks, name), np.ndarray)
    }
    return replace(asks, gaps={}, **columns)


Cell = NDArray[np.intp]
"""Positions of turns."""

_MOST_OBSERVATIONS = 50_000_000
"""Conversations times resamples up to which scores that are no means have intervals; others take too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellScores:
    """One score of every cell."""

    estimates: list[Estimate]
    drops: list[Estimate | None]
    """First value minus this cell's; None where there is nothing to compare with."""


def cell_scores(
    column: ScoreColumn,
    asks: Asks,
    cells: Sequence[Cell],
    firsts: Sequence[int | None],
    *,
    resamples: int,
    seed: int,
) -> CellScores:
    """
    Return *column*'s score of each of *cells*; *firsts* gives the cell that each is to be compared with.

    Both stand for turns by their positions in *asks*.
    """
    if not column.is_mean and asks.recorded_count * resamples > _MOST_OBSERVATIONS:
        resamples = 0
    weights = WeightBlocks(asks.recorded_count, resamples=resamples, seed=seed)
    drawn = Resampling(clusters=asks.recorded, weights=weights)
    value_of = partial(_pairwise_mean, column) if column.is_mean else None
    estimates, (resampled, _) = estimate_cells(column, cells, drawn, value_of)

    def drop(position: int, first: int | None) -> Estimate | None:
        if first is None or (before := estimates[first]).value is None:
            return None
        now = estimates[position]
        conversations = min(before.conversations, now.conversations)
        value = None if now.value is None else before.value - now.value
        lost: Samples = (resampled[:, [first]] - resampled[:, [position]], None)
        return Estimate(
            value=value,
            scored=now.scored,
            conversations=conversations,
            unscored={},
            **drawn.ends(
                lost,
                0,
                conversations=conversations,
                estimate=value,
                scale=scale_of(column.unit, difference=True),
            ),
        )

    drops = [drop(position, first) for position, first in enumerate(firsts)]
    return CellScores(estimates=estimates, drops=drops)


def _pairwise_mean(column: ScoreColumn, known: Positions) -> float | None:
    # numpy's sum, not the exact one of ``combine``: their last digits differ, and a load run's are these.
    values = np.fromiter((column.observed[index] for index in known), np.float64, len(known))
    return float(values.mean()) if len(values) else None
