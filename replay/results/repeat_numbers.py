"""What a report says of the repeats of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from replay.core.record import TurnRecord
from replay.results.repeats import repeats_of
from replay.statistics.group import Group
from replay.statistics.interval import IntervalMethod
from replay.statistics.repeats import RepeatNumbers, repeat_numbers
from replay.statistics.run_spread import SameAnswers
from replay.statistics.score_column import ScoreColumn
from replay.store.store import RunStore


def run_repeats(
    store: RunStore,
    records: Sequence[TurnRecord],
    columns: Mapping[str, ScoreColumn],
    *,
    resamples: int,
    method: IntervalMethod,
) -> RepeatNumbers | None:
    """Of the run in *store*, whose *records* and *columns* these are; None where it plays everything once."""
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
