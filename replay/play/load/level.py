"""
One level of load: what is offered, for how long, what came of it besides the turns themselves; the objectives
that a system has to keep to, which say too which asks were good ones; and the search for the highest level at
which it still meets them.

A search is a generator of the levels to measure, which is sent whether each met them. It assumes that
whoever misses at one level misses at every higher one.

Service level objectives:

    slo: {ttft_p95_s: 0.5, latency_p99_s: 3, errors: 0.01, f1_drop: 0.05}

- ``latency``, ``response``, ``ttft``, ``itl``, ``tpot`` and ``tpot_done`` with a percentile and ``_s``: at
  most so many seconds. Latency counts from sent, response from due (``replay.core.record.Timing``); ttft is
  the time to the first token, itl the time between tokens, tpot an answer's time per token from its first to
  its last one, tpot_done the same to its last byte.
- ``errors``: at most this share of asks without an answer.
- ``<scorer>_min``: a score of at least this; ``<scorer>_drop``: at most so much less than at the lowest
  level of the sweep. Both in the score's own unit (F1 from 0 to 1).

Objectives in seconds also say which single asks were good: those that met all of them. Their share is what
DistServe calls SLO attainment and their rate goodput (Zhong et al., *DistServe*, OSDI 2024; the paper
goes on to the greatest rate of requests at which attainment is still 90 % or 99 %, which is what a sweep
looks for).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from replay.core.load_record import GeneratorReport
from replay.core.settings.faults import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What is offered."""

    index: int
    """0 for the first of a run."""
    value: float | None
    """Concurrency, or conversations per second; None where arrivals are read."""
    is_open: bool
    """Whether conversations arrive whatever the system does."""
    start_s: float
    """When it begins, in seconds since the run's start."""
    ramp_s: float = 0.0
    warmup_s: float = 0.0
    duration_s: float | None = None
    conversations: int | None = None
    """Conversations begun at most."""
    turns: int | None = None
    """Turns asked at most."""

    @property
    def name(self) -> str:
        if self.value is None:
            return "as recorded"
        return f"{self.value:g} conversations/s" if self.is_open else f"concurrency {self.value:g}"

    @property
    def end_s(self) -> float | None:
        """Return when asking ends, in seconds since the run's start; None without a time limit."""
        return None if self.duration_s is None else self.start_s + self.warmup_s + self.duration_s

    @property
    def window_s(self) -> tuple[float, float]:
        """Return the measured time, in seconds since the run's start; turns that are due in it count."""
        return self.start_s + self.warmup_s, float("inf") if self.end_s is None else self.end_s

    def share(self, worker: int, workers: int) -> Level:
        """
        Return this level with the share of its load that *worker* (from 0) of *workers* offers.

        Only totals are divided; how arrivals are shared is decided elsewhere.
        """

        def part(total: float | None) -> int | None:
            return None if total is None else share_of(int(total), worker, workers)

        return replace(
            self,
            value=self.value if self.is_open else part(self.value),
            conversations=part(self.conversations),
            turns=part(self.turns),
        )


def share_of(total: int, worker: int, workers: int) -> int:
    """Return how many of *total* fall to *worker* (from 0); all shares together are the whole."""
    return total // workers + (worker < total % workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelOutcome:
    """What came of a level; times in seconds since the run's start."""

    ended_s: float
    conversations: int
    """Begun."""
    cut: int
    """Of these, ended because the level was over."""
    delayed: int
    """Arrivals that had to wait since as many conversations were open as may be."""
    generators: tuple[GeneratorReport, ...]
    """Who offered it."""
    unclosed: int = 0
    """Sessions that the systems could not close."""
    first_unclosed: str = ""
    """Why the first of them could not be closed."""


def together(parts: list[LevelOutcome]) -> LevelOutcome:
    """Return the combined outcome of a level that several processes played."""
    return LevelOutcome(
        ended_s=max(part.ended_s for part in parts),
        conversations=sum(part.conversations for part in parts),
        cut=sum(part.cut for part in parts),
        delayed=sum(part.delayed for part in parts),
        generators=tuple(generator for part in parts for generator in part.generators),
        unclosed=sum(part.unclosed for part in parts),
        first_unclosed=next((part.first_unclosed for part in parts if part.unclosed), ""),
    )


Search = Generator[float, bool, None]


def steps(levels: Sequence[float], *, go_on: bool = False) -> Search:
    """Yield the levels in order up to the first that misses; with *go_on*, all of them."""
    for level in levels:
        met = yield level
        if not met and not go_on:
            return


def bisect(low: float, high: float, *, resolution: float, whole: bool = False) -> Search:
    """
    Yield levels that double from *low* until one misses or *high* is reached, then bisect.

    Over when the lowest level that missed is at most *resolution* (a share) above the highest that met,
    with *whole* levels also when they are neighbours, and when *low* misses. Each level is measured once,
    so there are at most ``log2(high / low) + 2 + log2(1 / resolution)`` of them, rounded up.
    """
    met_at = 0.0
    missed_at = low
    while (yield missed_at):
        if missed_at >= high:
            return
        met_at, missed_at = missed_at, min(missed_at * 2, high)
    while met_at and missed_at - met_at > resolution * met_at:
        middle = (met_at + missed_at) / 2
        if whole:
            middle = float(middle // 1)
        if not met_at < middle < missed_at:
            return
        if (yield middle):
            met_at = middle
        else:
            missed_at = middle


def confirm(search: Search, times: int) -> Search:
    """Yield the levels of *search*, each until it is met once or missed *times* times."""
    level = next(search, None)
    while level is not None:
        for _ in range(times):
            met = yield level
            if met:
                break
        try:
            level = search.send(met)
        except StopIteration:
            return


TIMES = ("latency", "response", "ttft", "itl", "tpot", "tpot_done")
PER_ASK = ("latency", "response", "ttft", "tpot", "tpot_done")
"""The times that every ask has one of; the times between tokens are many in one ask."""

_TIME_KEY = re.compile(r"(?P<measure>[a-z_]+)_p(?P<percentile>[0-9]{1,3}(?:\.[0-9]+)?)_s")
_COMMON_PERCENTILES = ("50", "90", "95", "99", "99.9")
_SHOWN = {"ttft": "TTFT", "itl": "ITL", "tpot": "TPOT", "tpot_done": "TPOT to done"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One objective."""

    key: str
    """As in the scenario, and the name of the value that it is held against."""
    measure: str
    """``latency`` or another time, ``errors``, or a scorer's label."""
    kind: Literal["time", "errors", "min", "drop"]
    threshold: float
    """In seconds, as a share, or in the score's unit."""
    percentile: float | None = None
    """Of a time, in (0, 100]."""

    def met(self, values: Mapping[str, float | None]) -> bool:
        """
        Return whether the value called as this objective's key keeps to it.

        Nothing measured is not met: a system that doesn't stream has no time to the first token.
        """
        value = values.get(self.key)
        if value is None or math.isnan(value):
            return False
        return value >= self.threshold if self.kind == "min" else value <= self.threshold

    def __str__(self) -> str:
        match self.kind:
            case "time":
                shown = _SHOWN.get(self.measure, self.measure)
                return f"{shown} p{self.percentile:g} at most {self.threshold:g} s"
            case "errors":
                return f"errors at most {self.threshold * 100:g} %"
            case "min":
                return f"{self.measure} at least {self.threshold:g}"
            case "drop":
                return f"{self.measure} at most {self.threshold:g} below the lowest level"


def parse_objectives(
    slo: Mapping[str, Any], *, scorers: Collection[str] | None = None
) -> tuple[Objective, ...]:
    """
    Return the objectives in *slo*.

    *scorers* are the labels of all scores that the run will have, those of judges too; None where
    they are not known yet, and any label may be right.

    Raises:
        ValueError: one or more can't be objectives; the message says all that is wrong.
    """
    objectives: list[Objective] = []
    faults = []
    for key, value in slo.items():
        try:
            objectives.append(parse_objective(str(key), value, scorers=scorers))
        except ValueError as error:
            faults.append(f"slo.{key}: {error}")
    if faults:
        raise ValueError("; ".join(faults))
    return tuple(objectives)


def parse_objective(key: str, threshold: Any, *, scorers: Collection[str] | None = None) -> Objective:
    """
    Return the objective that one key and its threshold state.

    Args:
        key: The objective, such as ``errors`` or a percentile of a time.
        threshold: A number: a share, seconds, or a score.
        scorers: Labels of scores, as for ``parse_objectives``.

    Raises:
        ValueError: the key is unknown, or the threshold can't be one.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not math.isfinite(threshold):
        raise ValueError(f"{threshold!r} is not a number")
    if key == "errors":
        if not 0 <= threshold <= 1:
            raise ValueError(f"{threshold:g} is not a share from 0 to 1 (1 % is 0.01)")
        return Objective(key=key, measure=key, kind="errors", threshold=threshold)
    time = _TIME_KEY.fullmatch(key)
    if time and time["measure"] in TIMES:
        percentile = float(time["percentile"])
        if not 0 < percentile <= 100:
            raise ValueError(f"{percentile:g} is not a percentile; expected more than 0 and at most 100")
        if threshold <= 0:
            raise ValueError(f"{threshold:g} is not a positive number of seconds")
        return Objective(
            key=key, measure=time["measure"], kind="time", threshold=threshold, percentile=percentile
        )
    scorer, _, kind = key.rpartition("_")
    if not scorer or kind not in ("min", "drop"):
        raise ValueError(
            f'"{key}" is not an objective{nearest(key, _known_keys(scorers or ()))} (allowed: '
            f"{', '.join(TIMES)} as in latency_p99_s, errors, and <scorer>_min and <scorer>_drop)"
        )
    if scorers is not None and scorer not in scorers:
        known = f"the scenario has: {', '.join(scorers)}" if scorers else "the scenario has none"
        raise ValueError(
            f'"{scorer}" is not a scorer of the scenario{nearest(key, _known_keys(scorers))} ({known})'
        )
    if kind == "drop" and threshold < 0:
        raise ValueError(f"{threshold:g} is below 0; a drop is how much lower a score may be")
    return Objective(key=key, measure=scorer, kind="min" if kind == "min" else "drop", threshold=threshold)


def _known_keys(scorers: Collection[str]) -> Iterator[str]:
    yield from (f"{measure}_p{percentile}_s" for measure in TIMES for percentile in _COMMON_PERCENTILES)
    yield "errors"
    yield from (f"{scorer}_{kind}" for scorer in scorers for kind in ("min", "drop"))


def ask_limits_s(objectives: Iterable[Objective]) -> dict[str, float]:
    """
    Return how long a good ask may take, by measure; empty where no objective is about single asks.

    Of several objectives for one measure the most generous counts, since the others are about most asks and
    not about each.
    """
    limits: dict[str, float] = {}
    for objective in objectives:
        if objective.kind == "time" and objective.measure in PER_ASK:
            limits[objective.measure] = max(objective.threshold, limits.get(objective.measure, 0.0))
    return limits
