"""Steps of turns under way, kept until the turn has its record."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.message import Message, ToolCall
from replay.core.record import Step, UnfinishedTurn, Usage
from replay.store.store import RunStore
from tests.store.test_store import record

PLACE = ("c \ud800", "s", "pred", 2)
CALL = ToolCall(id="1", name="find \udc80", arguments="{")
STEPS = (
    Step(
        message=Message(role="assistant", tool_calls=(CALL,)),
        times_s=(0.0, 1.5),
        attempts=2,
        usage=Usage(prompt_tokens=3),
        cost_usd=0.5,
    ),
    Step(message=Message(role="tool", text="half \ud800", tool_call_id="1"), times_s=(1.5, 1.5)),
)


async def test_steps_come_back_as_they_were_until_the_turn_has_its_record(tmp_path):
    store = RunStore.create(tmp_path / "run", {})
    assert not store.has_begun_turns()
    for number, step in enumerate(STEPS):
        await store.write_step(PLACE, number, "Where \ud800?", step)
    assert store.has_begun_turns()
    assert store.begun_turn(PLACE) == UnfinishedTurn(asked="Where \ud800?", steps=STEPS)
    assert store.begun_turn((*PLACE[:3], 3)) is None
    store.close()


async def test_a_question_put_another_way_begins_with_no_steps_but_its_own(tmp_path):
    store = RunStore.create(tmp_path / "run", {})
    for number, step in enumerate(STEPS):
        await store.write_step(PLACE, number, "Where?", step)
    await store.write_step(PLACE, 0, "Where is Ann?", STEPS[0])
    assert store.begun_turn(PLACE) == UnfinishedTurn(asked="Where is Ann?", steps=STEPS[:1])
    store.close()


@pytest.mark.parametrize("asked_again", [False, True])
async def test_the_record_of_a_turn_takes_the_place_of_its_steps_and_of_no_other_ones(tmp_path, asked_again):
    store = RunStore.create(tmp_path / "run", {})
    found = record(conversation=PLACE[0], depth=2, steps=tuple(step.message for step in STEPS))
    found = msgspec.structs.replace(found, asks=2, step_times_s=((0.0, 1.5), (1.5, 1.5), (2.0, 3.25)))
    for number, step in enumerate(STEPS):
        await store.write_step(PLACE, number, "Where?", step)
    await store.write_step((*PLACE[:3], 3), 0, "And then?", STEPS[0])
    await (store.replace(found, "rerun", and_later=False) if asked_again else store.write(found))
    assert store.begun_turn(PLACE) is None
    assert store.begun_turn((*PLACE[:3], 3)) is not None
    assert list(store.records_of(*PLACE[:3])) == [found]
    store.close()
