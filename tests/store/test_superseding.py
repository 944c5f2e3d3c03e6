"""Turns that are asked again give way in one step, and with them what was found out about their answers."""

from __future__ import annotations

from contextlib import suppress

import pytest

from replay.core.conversation import Conversation
from replay.core.errors import RunError
from replay.core.record import TurnRecord, Usage
from replay.store.rows import StoredScore, StoredVerdict
from replay.store.store import RunStore
from tests.store.test_store import record as made


def record(depth=1, conversation="c", **changes) -> TurnRecord:
    return made(conversation, depth, **{"answer": f"before {depth}", **changes})


@pytest.fixture
async def store(tmp_path):
    """Three turns of one conversation and one of another, scored and judged."""
    store = RunStore.create(tmp_path / "run", {})
    store.add_conversations([Conversation(id=conversation, turns=()) for conversation in ("c", "other")])
    records = [record(1), record(2), record(3), record(1, "other")]
    for one in records:
        await store.write(one)
    places = [(one.conversation, "s", "pred", one.depth) for one in records]
    store.add_scores("f1", [StoredScore(*place, 1.0, None) for place in places])
    for place in places:
        store.add_verdict(StoredVerdict("judge", *place, 1, 0, None, {}))
    await store.flush()
    yield store
    with suppress(RunError):  # said to the test already
        store.close()


def answers(store) -> list[tuple[str, int, str]]:
    return [(one.conversation, one.depth, one.answer) for one in store.records()]


def scored(store) -> list[tuple[str, int]]:
    return sorted((score.conversation, score.depth) for score in store.scores("f1"))


async def test_a_turn_that_stands_alone_gives_way_alone(store):
    await store.replace(record(2, answer="after"), "again", and_later=False)
    after = [("c", 1, "before 1"), ("c", 2, "after"), ("c", 3, "before 3"), ("other", 1, "before 1")]
    assert answers(store) == after
    (kept,) = store.superseded_turns()
    assert (kept.reason, kept.record) == ("again", record(2))
    assert kept.at.endswith("+00:00")


async def test_turns_that_leaned_on_it_give_way_with_it(store):
    await store.replace(record(2, answer="after"), "again", and_later=True)
    assert answers(store) == [("c", 1, "before 1"), ("c", 2, "after"), ("other", 1, "before 1")]
    assert [kept.record for kept in store.superseded_turns()] == [record(2), record(3)]
    assert store.count_superseded() == (2, 2)


@pytest.mark.parametrize("and_later", [False, True])
async def test_scores_and_verdicts_go_from_there_on_and_stay_elsewhere(store, and_later):
    """A judge may have seen the answer when it judged a later turn."""
    await store.replace(record(2, answer="after"), "again", and_later=and_later)
    assert scored(store) == [("c", 1), ("other", 1)]
    judged = [(one.conversation, one.depth) for one in store.verdicts("judge")]
    assert judged == [("c", 1), ("other", 1)]


async def test_what_can_t_be_stored_leaves_the_turn_before_in_its_place(store):
    too_large = Usage(prompt_tokens=2**70)
    with pytest.raises(RunError, match="can't be written"):
        await store.replace(record(2, usage=too_large), "again", and_later=True)
    assert [answer for *_, answer in answers(store)] == ["before 1", "before 2", "before 3", "before 1"]
    assert list(store.superseded_turns()) == []
    assert len(scored(store)) == 4


async def test_a_session_that_is_gone_leaves_its_turns_behind(store):
    store.forget("c", "s", "pred")
    await store.flush()
    assert answers(store) == [("other", 1, "before 1")]
    assert {kept.reason for kept in store.superseded_turns()} == {"the system's session was gone"}
    assert scored(store) == [("other", 1)]


async def test_a_turn_replaced_twice_is_kept_twice(store):
    for attempt in ("after", "later"):
        await store.replace(record(1, answer=attempt), attempt, and_later=False)
    assert [kept.record.answer for kept in store.superseded_turns()] == ["before 1", "after"]
    assert store.count_superseded() == (1, 2)


async def test_text_that_utf_8_can_t_hold_is_kept_too(store):
    odd = record(1, "other", answer="\ud83d\x00")
    await store.replace(odd, "again", and_later=False)
    await store.replace(record(1, "other", answer="after"), "again", and_later=False)
    assert list(store.superseded_turns())[-1].record == odd
