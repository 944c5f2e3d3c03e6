"""
All that a report shows of a run, counted from its database, what it says in words of how the run went, and
the numbers that are read there alone: repeats, wording, a sample's drift, a gap's parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from typing import Any

import msgspec

from replay.core.load_record import LagSummary
from replay.core.record import TurnRecord
from replay.coreference.reading.words import content_words
from replay.datasets.turn_metadata import LEFT_OUT, OmissionCounts
from replay.results.late_drift import LATER, late_drift_remarks
from replay.results.play_events import (
    kept_answers_remarks,
    lost_remarks,
    played_by,
    rerun_notes,
    resolver_remarks,
    unclosed_remarks,
    version_remarks,
)
from replay.results.recorded import recorded_turns
from replay.results.run_data import data_remarks, repeats_of
from replay.results.scoring import stored_scorers
from replay.results.verdict_columns import BY_PEOPLE, judged_of, people_of
from replay.scenario.assertions.operational_metrics import OPERATIONAL_METRICS
from replay.scorers.answer_text import words
from replay.scorers.judges.tally import JudgeSummary, remarks
from replay.scorers.scorer import Scorer, Unscored
from replay.scorers.stored_scorer import check_observation, is_kept
from replay.statistics.attribution import (
    Attribution,
    Cells,
    GapAttribution,
    GapByVerdict,
    correct_attribution,
)
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import DepthTable, depth_table
from replay.statistics.group import Group, groups_in_order
from replay.statistics.interval import IntervalMethod
from replay.statistics.load.load_summary import DriftShare, drift_shares
from replay.statistics.paired import Turn, hidden_points, policy_gaps
from replay.statistics.recorded import count_recorded, script_survival
from replay.statistics.repeats import RepeatNumbers, SameAnswers, repeat_numbers
from replay.statistics.run_numbers import (
    FailureReason,
    Report,
    ServerTimedTurn,
    WordingAgreement,
    count_server_times,
    turn_groups,
)
from replay.statistics.score_column import ScoreColumn
from replay.statistics.users import Control, count_interventions, count_simulations
from replay.store import schema
from replay.store.numbers import count_turns, verdicts_under
from replay.store.page_queries import RunBrowser
from replay.store.reader import RunReader
from replay.store.store import RunStore


def run_report(
    store: RunStore,
    records: Sequence[TurnRecord],
    columns: Mapping[str, ScoreColumn],
    *,
    with_user: AbstractSet[str],
    failures: tuple[FailureReason, ...],
    lags: Mapping[str, LagSummary],
    signatures: Mapping[str, str],
    resamples: int,
    method: IntervalMethod,
) -> Report:
    """
    Return the report of the run in *store*.

    Args:
        store: The run's database.
        records: All its records; they may lack texts.
        columns: The scores of *records*.
        with_user: Labels of the policies under which a user may word turns that were recorded.
        failures: The reasons for failed turns.
        lags: The event loop's lag while it asked each system.
        signatures: Of the policies and the data.
        resamples: How often conversations are drawn for an interval.
        method: The kind of interval.
    """
    judged = judged_of(store)
    checks = count_checks(store.checks())
    server = count_server_times(
        ServerTimedTurn(Group(system, policy), depth, latency_s, ttft_s, said)
        for system, policy, depth, latency_s, ttft_s, said in store.server_times()
    )
    found = store.recorded_answers() if with_user else []
    controls: dict[Group, Control] = {
        Group(system, policy): "recorded" if is_first else "references" for system, policy, is_first in found
    }
    seed = store.required_fact("seed")
    gaps = policy_gaps(records, columns, resamples=resamples, seed=seed, method=method)
    return Report(
        table=run_table(store, records, columns, resamples=resamples, method=method),
        gaps=tuple(gaps),
        hidden=hidden_points(gaps, records, columns, resamples=resamples, seed=seed, method=method),
        wording=wording_agreements(store.rewritten()),
        failures=failures,
        loop_lag_s={system: lag.p99_s for system, lag in lags.items()},
        signatures=signatures,
        remarks=(*run_notes(store, judged), *stored_scorers(store).remarks),
        judges=tuple(msgspec.to_builtins(one) for one in judged),
        repeats=run_repeats(store, records, columns, resamples=resamples, method=method),
        interventions=count_interventions(records, with_user, controls),
        simulations=count_simulations(records, list(store.endings().values())),
        survival=script_survival(records),
        turn_groups=turn_groups(records, columns, resamples=resamples, seed=seed, method=method),
        people=people_of(store),
        server=server,
        checks=checks if checks.rows else None,
        recorded=count_recorded(recorded_turns(store)),
    )


def run_table(
    store: RunStore,
    records: Sequence[TurnRecord],
    columns: Mapping[str, ScoreColumn],
    *,
    resamples: int,
    method: IntervalMethod,
) -> DepthTable:
    """Return the depth table of *records*, with the scores in *columns*."""
    asked = store.fact("ask")
    return depth_table(
        records,
        columns,
        play_lengths(store, records),
        only_last=asked == "last",
        by_all=asked != BY_PEOPLE and not store.has_goals(),
        resamples=resamples,
        seed=store.required_fact("seed"),
        method=method,
    )


def run_notes(store: RunStore, judged: Sequence[JudgeSummary]) -> tuple[str, ...]:
    """
    Return the notes on the run in *store*: data left out, turns asked again, requests, judging.

    Args:
        judged: The summaries of the run's judges.
    """
    left_out = OmissionCounts()
    for turns in store.metadata(LEFT_OUT):
        left_out.add(turns)
    return (
        *left_out.remarks(),
        *(one.sentence for one in store.lost_turns()),
        *version_remarks(played_by(store)),
        *data_remarks(store),
        *rerun_notes(*store.count_superseded()),
        *kept_answers_remarks(store),
        *resolver_remarks(store),
        *unclosed_remarks(store),
        *lost_remarks(store),
        *late_drift_remarks(store),
        *remarks(judged),
    )


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
        records, columns, repeats.times, resamples=resamples, seed=store.required_fact("seed"), method=method
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
    drifted, sources, asked = (
        drifted_turns(browser, policies),
        browser.sources(),
        _reworded_questions(browser),
    )
    rows: list[Attribution] = []
    by_verdict: list[GapByVerdict] = []
    for name, scorer in scorers.items():
        if is_kept(scorer):
            continue
        cells = Cells(
            score=name,
            column=ScoreColumn(scorer=scorer, observed=()),
            observed=_observations(browser, name, scorer),
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


def _reworded_questions(browser: RunBrowser) -> dict[Group, dict[Turn, str]]:
    found: dict[Group, dict[Turn, str]] = defaultdict(dict)
    for conversation, system, policy, depth, question in browser.reworded_questions():
        found[Group(system, policy)][conversation, depth] = question
    return found


def _observations(browser: RunBrowser, name: str, scorer: Scorer[Any]) -> dict[Group, dict[Turn, Any]]:
    found: dict[Group, dict[Turn, Any]] = defaultdict(dict)
    for conversation, system, policy, depth, value in browser.observations(name):
        found[Group(system, policy)][conversation, depth] = check_observation(
            scorer, schema.from_json(value, object)
        )
    return dict(found)
