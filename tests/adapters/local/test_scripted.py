"""The ``scripted`` adapter: it does what it is told, the same each time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from replay import CANNOT_ANSWER, AdapterError, AdapterReplyError, ChatRequest, Conversation, Passage, Turn
from replay.core.settings.plugins import build
from replay.testing import AdapterContract
from replay_adapters.local.scripted import ScriptedAdapter, ScriptedAnswer, ScriptedFault
from tests.data_tables import from_table

HARBOURS = {f"harbour-{n}": [f"harbour-{n}!"] * 3 for n in range(1, 21)}


class TestAnsweringByConversation(AdapterContract):
    hangs = False
    fails_with = None
    tells_history = False

    @pytest.fixture
    def adapter(self) -> ScriptedAdapter:
        return ScriptedAdapter(answers=HARBOURS)


class TestWithFaults(AdapterContract):
    """The first ask of each session hangs or fails."""

    tells_history = False

    @pytest.fixture
    def adapter(self, request: pytest.FixtureRequest) -> ScriptedAdapter:
        name = request.node.name
        kinds = {"cancelled": "hang", "failure": "refused"}
        faults = [
            ScriptedFault(kind=kind, conversation="harbour-1", attempt=1)
            for word, kind in kinds.items()
            if word in name
        ]
        return ScriptedAdapter(answers=HARBOURS, faults=faults)


GOLD = Conversation(
    id="c", turns=(Turn(id="1", question="A?", gold_answers=("A.", "Other.")), Turn(id="2", question="B?"))
)


def _at(depth: int) -> ChatRequest:
    return ChatRequest(question=f"Q{depth}?", history=(), depth=depth)


async def _answers(adapter: ScriptedAdapter, *depths: int, conversation: Conversation = GOLD) -> list[str]:
    """Answers in one session, or the outcome where there is none."""
    answers = []
    async with adapter.session(conversation) as session:
        for depth in depths:
            try:
                answers.append((await session.ask(_at(depth))).text)
            except AdapterError as error:
                answers.append(error.outcome)
    return answers


async def test_gold_answers_are_played_back_and_unknown_ones_can_not_be_answered() -> None:
    assert await _answers(ScriptedAdapter(), 1, 2, 3) == ["A.", CANNOT_ANSWER, CANNOT_ANSWER]


async def test_one_list_serves_every_conversation() -> None:
    adapter = ScriptedAdapter(answers=["x", ScriptedAnswer(text="y", passages=(Passage(id="p", text="t"),))])

    assert await _answers(adapter, 2, 1) == ["y", "x"]
    async with adapter.session(GOLD) as session:
        assert (await session.ask(_at(2))).passages == (Passage(id="p", text="t"),)


async def test_lists_by_conversation_with_one_for_all_others() -> None:
    adapter = ScriptedAdapter(answers={"c": ["mine"], "*": ["others'"]})

    assert await _answers(adapter, 1) == ["mine"]
    assert await _answers(adapter, 1, conversation=Conversation(id="d", turns=())) == ["others'"]


@pytest.mark.parametrize(
    ("answers", "said"), [({"d": ["x"]}, 'no answers for conversation "c"'), (["x"], "has 1 answers, turn 2")]
)
async def test_a_script_that_says_nothing_there_is_a_bad_reply(answers: Any, said: str) -> None:
    async with ScriptedAdapter(answers=answers).session(GOLD) as session:
        with pytest.raises(AdapterReplyError, match=said):
            await session.ask(_at(2))


@from_table
async def test_a_fault_is_raised_as_it_is_written(
    fault: dict[str, Any], outcome: str, retryable: bool, reached: bool
) -> None:
    async with ScriptedAdapter(faults=[ScriptedFault(**fault)]).session(GOLD) as session:
        with pytest.raises(AdapterError) as caught:
            await session.ask(_at(1))

    error = caught.value
    assert (error.outcome, error.retryable, error.reached) == (outcome, retryable, reached)
    assert error.retry_after_s == fault.get("retry_after_s")


@from_table
async def test_a_fault_strikes_where_all_its_conditions_hold(fault: dict[str, Any], expected: str) -> None:
    adapter = ScriptedAdapter(answers=["."] * 3, faults=[ScriptedFault(kind="refused", **fault)])
    for _ in range(2):  # each session counts anew
        answers = await _answers(adapter, 1, 1, 2, 2, 3)
        assert " ".join(answers).replace("refused", "x") == expected


async def test_delays_depend_on_the_seed_and_the_turn_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(delay_s: float) -> None:
        slept.append(delay_s)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    adapter = ScriptedAdapter(delay_s=(0.1, 0.2), seed=1)
    await _answers(adapter, 1, 2)
    await _answers(adapter, 2)
    await _answers(ScriptedAdapter(delay_s=(0.1, 0.2), seed=2), 1)
    await _answers(ScriptedAdapter(delay_s=0.3, answers=["x", ScriptedAnswer(text="y", delay_s=0.4)]), 1, 2)
    await _answers(ScriptedAdapter(), 1)  # doesn't sleep

    first, second, again, other, fixed, own = slept
    assert second == again
    assert len({first, second, other}) == 3
    assert all(0.1 <= delay_s <= 0.2 for delay_s in (first, second, other))
    assert (fixed, own) == (0.3, 0.4)


@pytest.mark.parametrize("name", ["answers.yaml", "answers.json"])
async def test_answers_come_from_a_file_beside_the_scenario(name: str, tmp_path: Path) -> None:
    text = json.dumps({"c": ["x", {"text": "y"}]})
    (tmp_path / name).write_text(text, encoding="utf-8-sig")  # as some editors save it

    adapter = build(ScriptedAdapter, {"answers": name}, folder=tmp_path)

    assert await _answers(adapter, 1, 2) == ["x", "y"]


def test_settings_are_read_as_a_scenario_writes_them(tmp_path: Path) -> None:
    settings = {
        "answers": ["x", {"text": "y", "passages": [{"id": "p", "text": "t"}]}],
        "delay_s": [0, 0.5],
        "faults": [{"kind": "rate-limited", "depth": 2, "attempt": 1, "retry_after_s": 0.1}],
        "history": "server",
    }
    assert build(ScriptedAdapter, settings, folder=tmp_path) == ScriptedAdapter(
        answers=["x", ScriptedAnswer(text="y", passages=(Passage(id="p", text="t"),))],
        delay_s=(0.0, 0.5),
        faults=[ScriptedFault(kind="rate-limited", depth=2, attempt=1, retry_after_s=0.1)],
        history="server",
    )


def test_another_reference_may_stand_for_the_recorded_answer():
    turns = (
        Turn(id="1", question="Who?", gold_answers=("Ann Lee sang it.", "Ann Lee")),
        Turn(id="2", question="When?", gold_answers=("In 1990.",)),
        Turn(id="3", question="Why?"),
    )
    conversation = Conversation(id="c", turns=turns)
    adapter = ScriptedAdapter(answers="other-gold")
    found = [adapter.answer_for(conversation, depth).text for depth in (1, 2, 3)]
    assert found == ["Ann Lee", "In 1990.", CANNOT_ANSWER]
