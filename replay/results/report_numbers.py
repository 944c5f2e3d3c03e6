"""Numbers of a report, read from a run's database: repeats, wording, a sample's drift, a gap's parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from replay.core.record import TurnRecord
from replay.coreference.reading.words import content_words
from replay.results.late_drift import LATER
from replay.results.repeats import repeats_of
from replay.scenario.assertions.operational_metrics import OPERATIONAL_METRICS
from replay.scorers.answer_text import words
from replay.scorers.scorer import Scorer, Unscored
from replay.scorers.stored_scorer import check_observation, is_kept
from replay.statistics.attribution import (
    Attribution,
    Cells,
    GapAttribution,
    GapByVerdict,
    correct_attribution,
)
from replay.statistics.group import Group, groups_in_order
from replay.statistics.interval import IntervalMethod
from replay.statistics.load.load_summary import DriftShare, drift_shares
from replay.statistics.paired import Turn
from replay.statistics.repeats import RepeatNumbers, SameAnswers, repeat_numbers
from replay.statistics.run_numbers import WordingAgreement
from replay.statistics.score_column import ScoreColumn
from replay.store import schema
from replay.store.numbers import count_turns, verdicts_under
from replay.store.page_queries import RunBrowser
from replay.store.reader import RunReader
from replay.store.store import RunStore


def play_lengths(store: RunReader, records: Sequence[TurnRecord]) -> dict[str, int]:
    """Return how many turns each play was to have, by its conversation's id, for a table of *records*."""
    if store.has_goals():  # what nobody recorded is as long as it was played
        longest: dict[str, int] = {}
        for record in records:
            longest[record.conversation] = max(record.depth, longest.get(record.conversation, 0))
        return longest
    lengths = repeats_of(store).lengths(store.conversation_lengths())
    if store.fact("load") is not None:  # not what the data has, but what was begun
        return {record.conversation: lengths[record.recorded_conversation] for record in records}
    return lengths


def run_repeats(
    store: RunStore,
    records: Sequence[TurnRecord],
    columns: Mapping[str, ScoreColumn],
    *,
    resamples: int,
    method: IntervalMethod,
) -> RepeatNumbers | None:
    """
    Return the numbers on repeated plays; None if the run plays each conversation once.

    Args:
        records: All records of the run in *store*.
        columns: The scores of *records*, by scorer.
    """
    repeats = repeats_of(store)
    if repeats.times == 1:
        return None
    found = repeat_numbers(
        records, columns, repeats.times, resamples=resamples, seed=store.needed("seed"), method=method
    )
    same = tuple(
        SameAnswers(group=Group(system, policy), turns=turns, same=alike)
        for system, policy, turns, alike in store.same_answers(repeats.times)
    )
    return replace(found, same=same, seeds=repeats.seeds)


def wording_agreements(questions: Iterable[tuple[str, str, str, str]]) -> tuple[WordingAgreement, ...]:
    """
    Return the agreement of each group, in the order of the depth table.

    Args:
        questions: Of each rewritten question that has a standalone one: system, policy, the question as
            asked, and the standalone one.
    """
    pairs: dict[Group, list[tuple[str, str]]] = {}
    for system, policy, asked, standalone in questions:
        pairs.setdefault(Group(system, policy), []).append((asked, standalone))
    return tuple(_agreement(group, pairs[group]) for group in groups_in_order(pairs))


def _agreement(group: Group, pairs: list[tuple[str, str]]) -> WordingAgreement:
    things = [(set(content_words(asked)), set(content_words(standalone))) for asked, standalone in pairs]
    return WordingAgreement(
        group=group,
        questions=len(pairs),
        equal=sum(words(asked, "squad") == words(standalone, "squad") for asked, standalone in pairs),
        same_things=sum(ours == theirs for ours, theirs in things),
        nothing_else=sum(ours <= theirs for ours, theirs in things),
    )


def sampled_drift(store: RunReader, *, resamples: int, seed: int) -> tuple[DriftShare, ...]:
    """
    Return the share of a load run's questions that drifted, by system and policy, from the judged sample.

    Returns:
        One share per system and policy; empty if no turn was judged.
    """
    policies = store.fact(LATER) or []
    counts = count_turns(store, policies)
    if not any(seen for _, seen in counts.values()):
        return ()
    rows = list(verdicts_under(store, policies))
    observed = [
        Unscored(reason=(why or "").partition(": ")[0]) if valid is None else float(not valid)
        for *_, valid, why in rows
    ]
    return drift_shares(
        [conversation for conversation, *_ in rows],
        [Group(system, policy) for _, system, policy, *_ in rows],
        ScoreColumn(scorer=OPERATIONAL_METRICS["invalid"], observed=observed),
        turns={Group(*pair): turns for pair, (turns, _) in counts.items()},
        resamples=resamples,
        seed=seed,
    )


def run_attribution(
    browser: RunBrowser, scorers: Mapping[str, Scorer[Any]], *, resamples: int = 1000
) -> GapAttribution:
    """
    Return the parts of each score's gap between ``pred`` and ``gold``; empty without these policies.

    It reads the whole run.
    """
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
    """
    Return the kind of each policy by its label: its signature up to the first bar, such as
    ``replace+always``.
    """
    signatures: Mapping[str, str] = browser.fact("policies") or {}
    return {label: signature.partition("|")[0] for label, signature in signatures.items()}


def drifted_turns(browser: RunBrowser, policies: Mapping[str, str]) -> dict[str, set[Turn]]:
    """
    Return the turns whose question had drifted, for each system that was judged under ``pred``.

    A system without a verdict, as under ``detect: false``, is missing.

    Args:
        policies: As from ``policy_kinds``.
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
