"""The scripted system says what it is told to, and is an adapter like any other."""

from __future__ import annotations

import asyncio

import pytest

from replay import (
    AdapterCutOffError,
    AdapterError,
    ChatReply,
    ChatRequest,
    Conversation,
    Exchange,
    GoldPolicy,
    Turn,
)
from replay.core.asking.retries import RetryPolicy
from replay.testing import FAIL, HANG, AdapterContract, FakeClock, ScriptedSystem, failure, play

TALK = Conversation(id="c", turns=(Turn(id="1", question="One?"), Turn(id="2", question="Two?")))


def harbour(request, conversation):
    if request.question == HANG:
        return None
    if request.question == FAIL:
        return failure("refused")
    return f"{conversation.id}: {len(request.history)} before"


class TestWithTheHistorySentAlong(AdapterContract):
    @pytest.fixture
    def adapter(self):
        return ScriptedSystem(harbour)


class TestThatKeepsTheHistory(AdapterContract):
    @pytest.fixture
    def adapter(self):
        self.system = ScriptedSystem(harbour, history="server", delay_s=1.0)
        return self.system

    async def asked(self):
        while not self.system.requests:
            await asyncio.sleep(0)


async def asked(system: ScriptedSystem, *questions: str) -> list[str]:
    async with system.session(TALK) as session:
        replies = [
            await session.ask(ChatRequest(question=question, history=(), depth=depth))
            for depth, question in enumerate(questions, 1)
        ]
    return [reply.text for reply in replies]


async def test_in_turn_each_session_begins_with_the_first_answer():
    system = ScriptedSystem("a", ChatReply(text="b"))
    assert await asked(system, "1?", "2?") == await asked(system, "3?", "4?") == ["a", "b"]
    assert [request.question for request in system.requests] == ["1?", "2?", "3?", "4?"]
    assert system.conversations == [TALK, TALK]


async def test_by_question_and_by_a_function_that_may_wait():
    assert await asked(ScriptedSystem({"2?": "b", "1?": "a"}), "1?", "2?") == ["a", "b"]

    async def shouting(request, conversation):
        await asyncio.sleep(0)
        return request.question.upper()

    assert await asked(ScriptedSystem(shouting), "why?") == ["WHY?"]


@pytest.mark.parametrize("system", [ScriptedSystem("a"), ScriptedSystem({"1?": "a"})])
async def test_what_the_script_does_not_say_is_no_failed_turn(system):
    """It is a mistake in the test, which a record with an outcome would hide."""
    with pytest.raises(LookupError, match=r"the script has .*2\?"):
        await asked(system, "1?", "2?")


async def test_a_system_that_keeps_the_history_has_what_was_answered_and_is_sent_none():
    seen = []

    def remember(request, conversation):
        seen.append(request.history)
        return failure("refused") if len(seen) == 2 else "yes"

    system = ScriptedSystem(remember, history="server")
    await play(system, GoldPolicy(), TALK, on_failure="stop")
    with pytest.raises(AdapterError):
        await asked(ScriptedSystem(failure("timed-out"), history="server"), "1?")
    assert seen == [(), (Exchange(question="One?", answer="yes"),)]
    assert [request.history for request in system.requests] == [(), ()]


async def test_delays_pass_on_the_clock_and_nobody_waits():
    clock = FakeClock()
    records = await play(ScriptedSystem("a", "b", delay_s=3600, clock=clock), GoldPolicy(), TALK, clock=clock)
    assert [record.timing.latency_s for record in records] == [3600, 3600]


async def test_waits_before_retries_pass_on_the_clock_too():
    clock = FakeClock()
    busy = failure("rate-limited", retryable=True, retry_after_s=30)
    (first, _) = await play(ScriptedSystem(busy, "a", "b"), GoldPolicy(), TALK, clock=clock)
    assert (first.attempts, first.timing.sent_s, clock.slept) == (2, 30, [30])


@pytest.mark.parametrize(
    "outcome", ["timed-out", "connection-failed", "rate-limited", "refused", "bad-reply", "cut-off"]
)
async def test_every_outcome_can_be_had(outcome):
    patience = RetryPolicy(attempts=1)
    (record,) = await play(ScriptedSystem(failure(outcome, "oh")), GoldPolicy(), TALK, patience=patience)
    assert (record.outcome, record.error) == (outcome, "fake: oh")


def test_a_failure_takes_what_its_error_takes():
    cut = failure("cut-off", partial="In 19")
    assert isinstance(cut, AdapterCutOffError)
    assert cut.partial == "In 19"
    assert failure("refused", status=503).status == 503
    with pytest.raises(ValueError, match=r'"answered" is no outcome of a failed ask \(those are: timed-out,'):
        failure("answered")
