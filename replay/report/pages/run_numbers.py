"""All the numbers of a run that take long: computed at once, kept, shown on several pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.report.pages.checks import Check, Gate, failed_checks, gate
from replay.runs.run import Run
from replay.statistics.attribution import Attribution, GapByVerdict, corrected
from replay.statistics.four_cells import Cells
from replay.statistics.group import Group
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.paired import Turn
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
    policies: Mapping[str, str]
    """What each policy is, by its label."""
    attributions: tuple[Attribution, ...]
    by_verdict: tuple[GapByVerdict, ...]
    load: LoadSummary | None
    gate: Gate
    failed: tuple[Check, ...]
    """Assertions, objectives and yes-or-no scores that failed, with their turns."""


def run_numbers(run: Run, browser: RunBrowser, *, resamples: int = 1000) -> RunNumbers:
    """Compute all numbers of *run*; reads the whole run, so not for an event loop."""
    report, scorers = run.report(resamples=resamples), run.scorers()
    load, held = run.load_summary(), gate(run)
    seed = int(browser.fact("seed") or 0)
    policies = policy_kinds(browser)
    drifted, sources, asked = drifted_turns(browser, policies), browser.sources(), _reworded(browser)
    attributions: list[Attribution] = []
    by_verdict: list[GapByVerdict] = []
    has_gap = {"gold", "pred"} <= set(policies.values())
    for name, scorer in scorers.items() if has_gap else ():
        cells = Cells(
            score=name,
            column=ScoreColumn(scorer=scorer, observed=()),
            observed=_observed(browser, name),
            asked=asked,
            policies=policies,
            drifted=drifted,
            sources=sources,
            seed=seed,
            resamples=resamples,
        )
        attributions += cells.attributions()
        by_verdict += cells.by_verdict()
    attributions, by_verdict = corrected(attributions, by_verdict)
    return RunNumbers(
        report=report,
        first_pieces=_first_pieces(browser.first_pieces()),
        policies=policies,
        attributions=tuple(attributions),
        by_verdict=tuple(by_verdict),
        load=load,
        gate=held,
        failed=failed_checks(held, load, scorers, browser),
    )


def policy_kinds(browser: RunBrowser) -> dict[str, str]:
    """What each policy is, by its label: its signature up to the first bar, as ``replace+always``."""
    signatures: Mapping[str, str] = browser.fact("policies") or {}
    return {label: signature.partition("|")[0] for label, signature in signatures.items()}


def drifted_turns(browser: RunBrowser, policies: Mapping[str, str]) -> dict[str, set[Turn]]:
    """
    For each system whose questions were judged under ``pred``, the turns whose question had drifted.

    *policies* are ``policy_kinds``. A system without a verdict, as under ``detect: false``, is missing.
    """
    found: dict[str, set[Turn]] = {}
    for own in (label for label, kind in policies.items() if kind == "pred"):
        for system, conversation, depth, valid in browser.drift_verdicts(own):
            drifted = found.setdefault(system, set())
            if not valid:
                drifted.add((conversation, depth))
    return found


def _reworded(browser: RunBrowser) -> dict[Group, dict[Turn, str]]:
    found: dict[Group, dict[Turn, str]] = defaultdict(dict)
    for conversation, system, policy, depth, question in browser.reworded():
        found[Group(system, policy)][conversation, depth] = question
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
