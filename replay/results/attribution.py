"""What a run's gap between gold answers and its systems' own is made of, from the run's database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from replay.scorers.scorer import Scorer
from replay.scorers.stored_scorer import check_observation, is_kept
from replay.statistics.attribution import Attribution, GapAttribution, GapByVerdict, correct_attribution
from replay.statistics.four_cells import Cells
from replay.statistics.group import Group
from replay.statistics.score_column import ScoreColumn
from replay.statistics.turn_means import Turn
from replay.store import schema
from replay.store.page_queries import RunBrowser


def run_attribution(
    browser: RunBrowser, scorers: Mapping[str, Scorer[Any]], *, resamples: int = 1000
) -> GapAttribution:
    """By score of *scorers*; empty of a run without ``gold`` and ``pred``. Reads the whole run."""
    policies = policy_kinds(browser)
    if not {"gold", "pred"} <= set(policies.values()):
        return GapAttribution(policies=policies)
    seed = int(browser.fact("seed") or 0)
    drifted, sources, asked = drifted_turns(browser, policies), browser.sources(), _reworded(browser)
    rows: list[Attribution] = []
    by_verdict: list[GapByVerdict] = []
    for name, scorer in scorers.items():
        if is_kept(scorer):
            continue
        cells = Cells(
            score=name,
            column=ScoreColumn(scorer=scorer, observed=()),
            observed=_observed(browser, name, scorer),
            asked=asked,
            policies=policies,
            drifted=drifted,
            sources=sources,
            seed=seed,
            resamples=resamples,
        )
        rows += cells.attributions()
        by_verdict += cells.by_verdict()
    return correct_attribution(
        GapAttribution(policies=policies, rows=tuple(rows), by_verdict=tuple(by_verdict))
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


def _observed(browser: RunBrowser, name: str, scorer: Scorer[Any]) -> dict[Group, dict[Turn, Any]]:
    found: dict[Group, dict[Turn, Any]] = defaultdict(dict)
    for conversation, system, policy, depth, value in browser.observations(name):
        found[Group(system, policy)][conversation, depth] = check_observation(
            scorer, schema.from_json(value, object)
        )
    return dict(found)
