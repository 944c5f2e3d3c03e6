"""
A stress run's load, as the *Load* page takes it, from the run's own summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from replay.report.pages.load_view import Load
from replay.runs.run import Run
from replay.statistics.load.load_level import LevelSummary
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.load.percentiles import Percentiles
from replay.statistics.load.time_series import TimeSeries


def measured_load(run: Run) -> Load | None:
    """The load of *run*; None where it was no stress run."""
    summary = run.load_summary()
    return None if summary is None else plain_load(summary)


def plain_load(summary: LoadSummary) -> Load:
    """*summary* as ``load_charts`` takes it."""
    errors: Counter[str] = Counter()
    for level in summary.levels:
        errors.update({kind.outcome: kind.turns for kind in level.errors})
    return {
        "levels": [_level(level, summary.score_units) for level in summary.levels],
        "series": _series(summary.series) if summary.series else [],
        "by_depth": _by_depth(summary.levels),
        "errors": dict(errors),
    }


def _level(level: LevelSummary, units: Mapping[str, str]) -> dict[str, Any]:
    several = len(level.groups) > 1
    return {
        "name": level.played.name,
        "offered": level.rates.turns_due,
        "throughput": level.rates.turns_answered,
        "goodput": level.goodput.per_s if level.goodput else None,
        "latency": _percentiles(level.total.latency),
        "ttft": _percentiles(level.total.ttft),
        "asked": level.total.turns,
        "errors": sum(kind.turns for kind in level.errors),
        "quality": {
            f"{name} ({group.group})" if several else name: {
                "value": score.value,
                "low": score.low,
                "high": score.high,
                "unit": units.get(name, ""),
            }
            for group in level.groups
            for name, score in group.total.scores.items()
        },
    }


def _percentiles(found: Percentiles | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {
        "p50": found.p50_s,
        "p90": found.p90_s,
        "p95": found.p95_s,
        "p99": found.p99_s,
        "max": found.max_s,
    }


def _series(series: TimeSeries) -> list[dict[str, Any]]:
    width = series.bucket_s
    return [
        {
            "at_s": series.start_s[n],
            "offered": series.sent[n] / width,
            "throughput": series.done[n] / width,
            "in_flight": series.open_conversations[n],
            "p50": series.latency_p50_s[n],
            "p99": series.latency_p99_s[n],
            "errors": series.errors[n] / width,
        }
        for n in range(len(series.start_s))
    ]


def _by_depth(levels: Sequence[LevelSummary]) -> list[dict[str, Any]]:
    """Of the last level; empty with several systems or policies, whose percentiles don't add up."""
    if not levels or len(levels[-1].groups) != 1:
        return []
    return [
        {"depth": depth, "turns": cell.turns, **(_percentiles(cell.latency) or {})}
        for depth, cell in levels[-1].groups[0].depths.items()
    ]
