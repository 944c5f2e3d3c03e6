"""What a report says in words of how a run went, beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from replay.datasets.left_out import LEFT_OUT, LeftOut
from replay.runs.kept_answers import kept_answers_remarks
from replay.runs.left_turns import taken_remarks
from replay.runs.lost_processes import lost_remarks
from replay.runs.rerun_notes import again_remarks
from replay.runs.resolver_asks import resolver_remarks
from replay.runs.run_data import data_remarks
from replay.runs.unclosed_sessions import unclosed_remarks
from replay.runs.versions import played_by, version_remarks
from replay.scorers.judges.notes import remarks
from replay.scorers.judges.tally import Judged
from replay.store.store import RunStore


def run_notes(store: RunStore, judged: Sequence[Judged]) -> tuple[str, ...]:
    """Of the run in *store*, *judged* by its judges: data left out, turns asked again, asks, judging."""
    left_out = LeftOut()
    for turns in store.metadata(LEFT_OUT):
        left_out.add(turns)
    return (
        *left_out.remarks(),
        *(one.sentence for one in store.lost()),
        *version_remarks(played_by(store)),
        *data_remarks(store),
        *again_remarks(*store.count_superseded()),
        *kept_answers_remarks(store),
        *resolver_remarks(store),
        *unclosed_remarks(store),
        *lost_remarks(store),
        *taken_remarks(store),
        *remarks(judged),
    )
