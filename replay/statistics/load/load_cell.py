"""
What came of the measured asks of a level, or of one system, policy and depth in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from replay.core.record import TOKEN_GAP_S
from replay.statistics.estimate import Estimate
from replay.statistics.load.asks import OUTCOMES, Asks
from replay.statistics.load.percentiles import (
    CountedDurations,
    Durations,
    KeptDurations,
    Percentiles,
    percentiles,
)


class GrowingHistogram(Durations, Protocol):
    """A histogram that durations can be added to."""

    def record_all(self, durations_s: NDArray[np.floating[Any]]) -> None: ...

    def merge(self, other: Any) -> None: ...


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
    durations: Mapping[str, GrowingHistogram]
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
    def answered(self) -> int:
        return self.outcomes.get("answered", 0)

    @property
    def failed(self) -> int:
        """Turns asked without getting an answer."""
        return self.turns - self.answered

    @property
    def error_share(self) -> float | None:
        return self.failed / self.turns if self.turns else None


class AnswerTimes:
    """Of the answers among the asks at the positions *chosen*; *tallies* and *gaps* as for ``load_cell``."""

    def __init__(
        self,
        asks: Asks,
        chosen: NDArray[np.intp],
        *,
        tallies: Sequence[LoadTally],
        gaps: Iterable[Mapping[int, int]],
        histogram: Callable[[], GrowingHistogram],
    ) -> None:
        self._answers = picked_asks(asks, chosen[asks.answered[chosen]])
        self._tallies = tallies
        self._gaps = gaps
        self._histogram = histogram

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
        whole = self._histogram()
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
    histogram: Callable[[], GrowingHistogram],
    scores: Mapping[str, Estimate] | None = None,
    score_drops: Mapping[str, Estimate] | None = None,
) -> LoadCell:
    """
    Return the numbers of the asks at the indices *chosen*, with their *tallies* and token *gaps*.

    *histogram* makes an empty histogram, into which kept durations go too where some are only tallied.
    """
    outcome = asks.outcome[chosen]
    outcomes = Counter({OUTCOMES[code]: int(n) for code, n in enumerate(np.bincount(outcome)) if n})
    for tally in tallies:
        outcomes.update(tally.outcomes)
    times = AnswerTimes(asks, chosen, tallies=tallies, gaps=gaps, histogram=histogram)
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
    told = asks.answered & ~np.isnan(asks.server_s)
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
