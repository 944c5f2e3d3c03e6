"""
All that a report shows of a run, counted from its database, and what it says in words of how the run went.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet

import msgspec

from replay.core.load_record import LagSummary
from replay.core.record import TurnRecord
from replay.datasets.turn_metadata import LEFT_OUT, OmissionCounts
from replay.results.late_drift import late_drift_remarks
from replay.results.play_events import (
    kept_answers_remarks,
    lost_remarks,
    rerun_notes,
    resolver_remarks,
    unclosed_remarks,
)
from replay.results.recorded import recorded_turns
from replay.results.report_numbers import play_lengths, run_repeats, wording_agreements
from replay.results.run_data import data_remarks
from replay.results.scoring import stored_scorers
from replay.results.verdict_columns import BY_PEOPLE, judged_of, people_of
from replay.results.versions import played_by, version_remarks
from replay.scorers.judges.tally import JudgeSummary, remarks
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import DepthTable, depth_table
from replay.statistics.group import Group
from replay.statistics.interval import IntervalMethod
from replay.statistics.paired import hidden_points, policy_gaps
from replay.statistics.recorded import count_recorded, script_survival
from replay.statistics.run_numbers import (
    FailureReason,
    Report,
    ServerTimedTurn,
    count_server_times,
    turn_groups,
)
from replay.statistics.score_column import ScoreColumn
from replay.statistics.users import Control, count_interventions, count_simulations
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
    seed = store.needed("seed")
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
        seed=store.needed("seed"),
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
        *(one.sentence for one in store.lost()),
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
