"""What a level's numbers are held against, as soon as it is over."""

from __future__ import annotations

import asyncio

import pytest

from replay.core.conversation import Passage
from replay.core.record import Timing, TurnRecord
from replay.load.levels import ObjectiveCheck
from replay.play.load.level import Level, parse_objectives
from replay.scorers.retrieval import hit_rate_scorer
from replay.statistics import score_column
from replay.store.rows import StoredTally
from replay.store.store import RunStore
from tests.scorers.turns import turn

LEVEL = Level(index=0, value=2.0, is_open=False, start_s=0.0, duration_s=10.0)
RESULT = {"measured_from_s": 0.0, "measured_to_s": 10.0}


def record(number: int, *passages: str) -> TurnRecord:
    return turn(
        "Mira.",
        "Mira.",
        conversation=f"c{number}",
        gold_passages=("p1",),
        passages=tuple(Passage(id=name, text="") for name in passages),
        timing=Timing(scheduled_s=number, sent_s=number, done_s=number + 0.5),
    )


async def judged(folder, records, slo, scorers):
    store = RunStore.create(folder, {})
    try:
        await asyncio.gather(*(store.write(one) for one in records))
        return ObjectiveCheck(parse_objectives(slo, scorers=scorers), scorers, store).check(LEVEL, RESULT)
    finally:
        store.close()


@pytest.mark.parametrize("chunk", [1, 100])
async def test_a_scorer_that_has_to_see_every_record_first_does(tmp_path, monkeypatch, chunk):
    """A system that reports passages at all has missed the gold one where it reports none."""
    monkeypatch.setattr(score_column, "PART", chunk)
    records = [record(0), record(1), record(2, "p1"), record(3, "p1")]
    found = await judged(tmp_path / "run", records, {"hits_min": 0.6}, {"hits": hit_rate_scorer(k=1)})
    assert found["goals"][0]["value"] == 0.5
    assert found["met"] is False


async def test_tallied_turns_count_but_for_those_that_were_not_asked(tmp_path):
    """As in the report: a question that the policy ``filter`` skipped is no ask without an answer."""
    outcomes = {"answered": 2, "skipped": 5, "timed-out": 1}
    data = {"turns": 8, "outcomes": outcomes, "latency": None, "response": None, "ttft": None}
    store = RunStore.create(tmp_path / "run", {})
    try:
        await store.write(record(1))
        store.set_tally(StoredTally(0, "s", "pred", 1, data))
        store.set_tally(StoredTally(1, "s", "pred", 1, data))
        await store.flush()
        found = ObjectiveCheck(parse_objectives({"errors": 0.25}), {}, store).check(LEVEL, RESULT)
    finally:
        store.close()
    assert (found["goals"][0]["value"], found["met"]) == (0.25, True)


async def test_turns_outside_of_the_window_count_for_nothing(tmp_path):
    records = [record(1), record(20)]
    found = await judged(tmp_path / "run", records, {"errors": 0.0, "latency_p50_s": 0.6}, {})
    assert [goal["value"] for goal in found["goals"]] == [0.0, 0.5]
    assert found["met"] is True
