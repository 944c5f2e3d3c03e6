"""What a report says in words of how a run went, beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from replay.datasets.turn_metadata import LEFT_OUT, OmissionCounts
from replay.results.late_drift import late_drift_remarks
from replay.results.play_events import kept_answers_remarks, lost_remarks, rerun_notes, unclosed_remarks
from replay.results.resolver_asks import resolver_remarks
from replay.results.run_data import data_remarks
from replay.results.versions import played_by, version_remarks
from replay.scorers.judges.tally import JudgeSummary, remarks
from replay.store.store import RunStore


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
