"""Whether a level kept the objectives, found out as soon as it is over."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from replay.core.record import TOKEN_GAP_S, Timing, TurnRecord
from replay.play.load.histogram import DurationHistogram
from replay.play.load.level import Level
from replay.play.load.objectives import Objective
from replay.scorers.scorer import Scorer, SurveyingScorer, Unscored
from replay.store.store import RunStore

CHUNK = 5_000


class ObjectiveCheck:
    """Checks level after level; the first is what scores are compared with."""

    def __init__(
        self, objectives: Sequence[Objective], scorers: Mapping[str, Scorer[Any]], store: RunStore
    ) -> None:
        self._objectives = objectives
        self._scorers = {
            objective.measure: scorers[objective.measure]
            for objective in objectives
            if objective.kind in ("min", "drop")
        }
        self._store = store
        self._first_scores: Mapping[str, float] | None = None

    def check(self, level: Level, result: Mapping[str, Any]) -> dict[str, Any]:
        """
        ``met`` and, objective by objective, ``goals`` of a level whose records are durable.

        Empty where there are no objectives.
        """
        if not self._objectives:
            return {}
        measured = _Measured(self._objectives, self._scorers)
        measured.take(self._store.records_due(result["measured_from_s"], result["measured_to_s"]))
        for tally in self._store.tallies():
            if tally.level == level.index:
                measured.take_tally(tally.data)
        scores = measured.scores()
        if self._first_scores is None:
            self._first_scores = scores
        values = {objective.key: self._value(objective, measured, scores) for objective in self._objectives}
        found = [
            {
                "goal": str(objective),
                "key": objective.key,
                "value": values[objective.key],
                "met": objective.met(values),
            }
            for objective in self._objectives
        ]
        return {"met": all(one["met"] for one in found), "goals": found}

    def _value(self, objective: Objective, measured: _Measured, scores: Mapping[str, float]) -> float | None:
        match objective.kind:
            case "errors":
                return measured.error_share
            case "time":
                assert objective.percentile is not None
                return measured.quantile(objective.measure, objective.percentile / 100)
            case "min":
                return scores.get(objective.measure)
            case "drop":
                assert self._first_scores is not None
                first, now = self._first_scores.get(objective.measure), scores.get(objective.measure)
                return None if first is None or now is None else first - now


class _Measured:
    """What the objectives need to know of a level's measured turns."""

    def __init__(self, objectives: Sequence[Objective], scorers: Mapping[str, Scorer[Any]]) -> None:
        self._times = {
            objective.measure: _TIMES[objective.measure]
            for objective in objectives
            if objective.kind == "time"
        }
        self._scorers = scorers
        self._asked = 0
        self._answered = 0
        self._seconds: dict[str, list[float]] = {measure: [] for measure in self._times}
        self._histograms: dict[str, DurationHistogram] = {}
        self._observed: dict[str, list[Any]] = {label: [] for label in scorers}

    @property
    def error_share(self) -> float | None:
        return (self._asked - self._answered) / self._asked if self._asked else None

    def take(self, records: Iterable[TurnRecord]) -> None:
        if any(isinstance(scorer, SurveyingScorer) for scorer in self._scorers.values()):
            # Such a scorer has to have seen every record before it can observe one.
            records = list(records)
            self._scorers = {
                label: scorer.surveyed(records) if isinstance(scorer, SurveyingScorer) else scorer
                for label, scorer in self._scorers.items()
            }
        chunk: list[TurnRecord] = []
        for record in records:
            self._take_times(record)
            chunk.append(record)
            if len(chunk) == CHUNK:
                self._observe(chunk)
                chunk = []
        self._observe(chunk)

    def _take_times(self, record: TurnRecord) -> None:
        timing = record.timing
        if timing is None:
            return
        self._asked += 1
        if record.outcome == "answered":
            self._answered += 1
            for measure, times in self._times.items():
                self._seconds[measure] += times(timing, record)

    def _observe(self, records: Sequence[TurnRecord]) -> None:
        for label, scorer in self._scorers.items():
            self._observed[label] += [o for o in scorer.observe(records) if not isinstance(o, Unscored)]

    def take_tally(self, data: Mapping[str, Any]) -> None:
        self._asked += data["turns"]
        self._answered += data["outcomes"].get("answered", 0)
        for measure in self._times:
            if data.get(measure):
                self._histograms.setdefault(measure, DurationHistogram()).merge(
                    DurationHistogram.decode(data[measure])
                )

    def quantile(self, measure: str, share: float) -> float | None:
        """In seconds; from histograms where not all turns were kept."""
        import numpy as np  # 16 MB, which a run without objectives does without

        seconds = np.asarray(self._seconds[measure])
        if measure in self._histograms:
            whole = DurationHistogram()
            whole.merge(self._histograms[measure])
            whole.record_all(seconds)
            found = whole.quantiles([share])
            return found[0] if found else None
        return float(np.quantile(seconds, share)) if len(seconds) else None

    def scores(self) -> dict[str, float]:
        """By label; only those that there are."""
        found = {
            label: self._scorers[label].combine(observed)
            for label, observed in self._observed.items()
            if observed
        }
        return {label: value for label, value in found.items() if not math.isnan(value)}


def _latency(timing: Timing, record: TurnRecord) -> list[float]:
    return [timing.latency_s]


def _response(timing: Timing, record: TurnRecord) -> list[float]:
    return [timing.response_s]


def _ttft(timing: Timing, record: TurnRecord) -> list[float]:
    return [] if timing.ttft_s is None else [timing.ttft_s]


def _itl(timing: Timing, record: TurnRecord) -> list[float]:
    return [gap * TOKEN_GAP_S for gap in timing.token_gaps_100us]


def _tpot(timing: Timing, record: TurnRecord) -> list[float]:
    usage = record.usage
    tokens = usage.completion_tokens if usage else None
    tokens = len(timing.token_gaps_100us) + 1 if tokens is None else tokens
    if timing.first_token_s is None or tokens < 2:
        return []
    return [(timing.done_s - timing.first_token_s) / (tokens - 1)]


_TIMES: dict[str, Callable[[Timing, TurnRecord], list[float]]] = {
    "latency": _latency,
    "response": _response,
    "ttft": _ttft,
    "itl": _itl,
    "tpot": _tpot,
}
