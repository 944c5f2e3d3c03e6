"""All the numbers of a run that take long: computed at once, kept, shown on several pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from replay.results.attribution import run_attribution
from replay.results.run import Run
from replay.statistics.attribution import GapAttribution
from replay.statistics.group import Group
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_numbers import Report
from replay.store.page_queries import RunBrowser, TimedTurn
from replay.viewer.broken_rules import BrokenRule, GateResult, broken_rules, gate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNumbers:
    """The report of a run and what the pages show beside it."""

    report: Report
    first_pieces: Mapping[tuple[Group, int | None], tuple[float, float]]
    """Median and 95th percentile of the time to the first piece, by depth; depth None for all."""
    gap: GapAttribution
    load: LoadSummary | None
    gate: GateResult
    broken: tuple[BrokenRule, ...]
    """Assertions, objectives, checks and yes-or-no scores that failed, with their turns."""


def run_numbers(run: Run, browser: RunBrowser, *, resamples: int = 1000) -> RunNumbers:
    """Compute all numbers of *run*; reads the whole run, so not for an event loop."""
    report, scorers = run.report(resamples=resamples), run.scorers()
    load, held = run.load_summary(), gate(run)
    return RunNumbers(
        report=report,
        first_pieces=_first_pieces(browser.first_pieces()),
        gap=run_attribution(browser, scorers, resamples=resamples),
        load=load,
        gate=held,
        broken=broken_rules(held, load, scorers, report.checks, browser),
    )


def _first_pieces(timed: Sequence[TimedTurn]) -> dict[tuple[Group, int | None], tuple[float, float]]:
    times: dict[tuple[Group, int | None], list[float]] = defaultdict(list)
    for turn in timed:
        for depth in (turn.depth, None):
            times[Group(turn.system, turn.policy), depth].append(turn.ttft_s)
    found = {}
    for key, values in times.items():
        p50, p95 = np.quantile(values, [0.5, 0.95])
        found[key] = float(p50), float(p95)
    return found
