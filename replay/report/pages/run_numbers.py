"""
All the numbers of a run that take long: computed at once, kept, shown on several pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from replay.report.pages.gap_parts import GapByVerdict, GapParts, Turn, gap_by_verdict, gap_parts
from replay.report.pages.load_view import Load, LoadOf
from replay.report.pages.measured_load import measured_load
from replay.runs.run import Run
from replay.statistics.group import Group
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import ScoreColumn
from replay.store import schema
from replay.store.browsing import RunBrowser, TimedTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPieces:
    """Time to the first piece of the answers at one depth, or at all."""

    answers: int
    p50_s: float
    p95_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNumbers:
    """The report of a run and what the pages show beside it."""

    turns: int
    """Turns that were recorded when this was computed."""
    report: Report
    first_pieces: Mapping[tuple[Group, int | None], FirstPieces]
    parts: tuple[GapParts, ...]
    by_verdict: tuple[GapByVerdict, ...]
    load: Load | None = None


class _Drawn(TypedDict):
    """How resamples are drawn."""

    sources: Mapping[str, str]
    seed: int
    resamples: int


def run_numbers(
    run: Run, browser: RunBrowser, *, resamples: int = 1000, load_of: LoadOf = measured_load
) -> RunNumbers:
    """Compute all numbers of *run*; reads the whole run, so not for an event loop."""
    turns = browser.progress().turns
    report = run.report(resamples=resamples)
    seed = int(browser.fact("seed") or 0)
    drifted, sources = drifted_turns(browser), browser.sources()
    parts: list[GapParts] = []
    by_verdict: list[GapByVerdict] = []
    if drifted:
        for name, scorer in run.scorers().items():
            column = ScoreColumn(scorer=scorer, observed=())
            observed = _observed(browser, name)
            drawn: _Drawn = {"sources": sources, "seed": seed, "resamples": resamples}
            parts += gap_parts(name, column, observed, **drawn)
            by_verdict += gap_by_verdict(name, column, observed, drifted, **drawn)
    return RunNumbers(
        turns=turns,
        report=report,
        first_pieces=first_pieces(browser.first_pieces()),
        parts=tuple(parts),
        by_verdict=tuple(by_verdict),
        load=load_of(run),
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


def first_pieces(timed: Sequence[TimedTurn]) -> dict[tuple[Group, int | None], FirstPieces]:
    """Percentiles by system, policy and depth; depth None for all."""
    times: dict[tuple[Group, int | None], list[float]] = defaultdict(list)
    for turn in timed:
        group = Group(turn.system, turn.policy)
        times[group, turn.depth].append(turn.ttft_s)
        times[group, None].append(turn.ttft_s)
    found = {}
    for key, values in times.items():
        p50, p95 = np.quantile(values, [0.5, 0.95])
        found[key] = FirstPieces(answers=len(values), p50_s=float(p50), p95_s=float(p95))
    return found


def _observed(browser: RunBrowser, scorer: str) -> dict[Group, dict[Turn, Any]]:
    found: dict[Group, dict[Turn, Any]] = defaultdict(dict)
    for conversation, system, policy, depth, value in browser.observations(scorer):
        found[Group(system, policy)][conversation, depth] = schema.from_json(value, object)
    return dict(found)
