"""All the numbers of a run that take long: computed at once, kept, shown on several pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.report.pages.gap_parts import Gap, GapByVerdict, GapParts, Turn
from replay.runs.run import Run
from replay.statistics.group import Group
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import ScoreColumn
from replay.store import schema
from replay.store.browsing import RunBrowser, TimedTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNumbers:
    """The report of a run and what the pages show beside it."""

    report: Report
    first_pieces: Mapping[tuple[Group, int | None], tuple[float, float]]
    """Median and 95th percentile of the time to the first piece, by depth; depth None for all."""
    parts: tuple[GapParts, ...]
    by_verdict: tuple[GapByVerdict, ...]
    load: LoadSummary | None


def run_numbers(run: Run, browser: RunBrowser, *, resamples: int = 1000) -> RunNumbers:
    """Compute all numbers of *run*; reads the whole run, so not for an event loop."""
    report = run.report(resamples=resamples)
    seed = int(browser.fact("seed") or 0)
    drifted, sources = drifted_turns(browser), browser.sources()
    parts: list[GapParts] = []
    by_verdict: list[GapByVerdict] = []
    for name, scorer in run.scorers().items() if drifted else ():
        column = ScoreColumn(scorer=scorer, observed=())
        gap = Gap(
            score=name,
            column=column,
            observed=_observed(browser, name),
            sources=sources,
            seed=seed,
            resamples=resamples,
        )
        parts += gap.parts()
        by_verdict += gap.by_verdict(drifted)
    return RunNumbers(
        report=report,
        first_pieces=_first_pieces(browser.first_pieces()),
        parts=tuple(parts),
        by_verdict=tuple(by_verdict),
        load=run.load_summary(),
    )


def drifted_turns(browser: RunBrowser) -> dict[str, set[Turn]]:
    """For each system that has ``gold`` and ``pred``, the turns whose question had drifted under ``pred``."""
    groups = set(browser.groups())
    systems = sorted(system for system, policy in groups if policy == "pred" and (system, "gold") in groups)
    found: dict[str, set[Turn]] = {system: set() for system in systems}
    for system, conversation, depth in browser.drifted("pred"):
        if system in found:
            found[system].add((conversation, depth))
    return found


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


def _observed(browser: RunBrowser, scorer: str) -> dict[Group, dict[Turn, Any]]:
    found: dict[Group, dict[Turn, Any]] = defaultdict(dict)
    for conversation, system, policy, depth, value in browser.observations(scorer):
        found[Group(system, policy)][conversation, depth] = schema.from_json(value, object)
    return dict(found)
