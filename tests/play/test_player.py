"""One conversation, turn after turn."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest
from msgspec.structs import replace

from replay.core.adapter import ChatReply
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation, Turn
from replay.core.errors import (
    AdapterConnectionError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    PluginError,
)
from replay.core.history import own_history
from replay.core.message import Message
from replay.play.player import is_over
from replay.policies.policy import PlannedTurn
from replay.policies.recorded import GoldPolicy, PredPolicy
from replay.testing import FakeClock
from tests.samples import ALBUM, Fake, conversation, detector, play


def outcomes(records):
    return [(r.depth, r.outcome) for r in records]


async def test_turns_are_asked_in_order_and_each_becomes_a_record():
    records = await play(Fake("a", "b", "c"), GoldPolicy())
    assert [(r.depth, r.asked, r.answer) for r in records] == [
        (1, "Who wrote Stone Garden?", "a"),
        (2, "Where was she born?", "b"),
        (3, "What is it known for?", "c"),
    ]


async def test_a_failed_ask_ends_the_conversation_by_default():
    records = await play(Fake("a", AdapterRefusedError("no"), "c"), GoldPolicy())
    assert outcomes(records) == [(1, "answered"), (2, "refused")]
    assert records[-1].error == "fake: no"
    assert is_over(ALBUM, records, "stop")


async def test_the_gold_answer_can_stand_in_for_a_failed_one():
    system = Fake("a", AdapterRefusedError("no"), "c")
    async with detector() as drift:
        records = await play(system, PredPolicy(detector=drift), on_failure="gold")
    assert outcomes(records) == [(1, "answered"), (2, "refused"), (3, "answered")]
    assert [e.answer for e in system.requests[-1].history] == ["a", "In Port Ellis."]


async def test_a_conversation_ends_where_no_gold_answer_can_stand_in():
    talk = conversation(("One?", None), ("Two?", "2"))
    records = await play(Fake(AdapterRefusedError("no"), "2"), GoldPolicy(), talk, on_failure="gold")
    assert outcomes(records) == [(1, "refused")]
    assert is_over(talk, records, "gold")


async def test_a_deadline_makes_a_record_of_an_ask_that_never_ends():
    records = await play(Fake(None), GoldPolicy(), patience=RetryPolicy(timeout_s=0.01))
    assert outcomes(records) == [(1, "timed-out")]
    assert "0.01 s" in (records[0].error or "")


async def test_what_may_succeed_is_asked_again():
    system = Fake(AdapterConnectionError("reset", retryable=True), "a", "b", "c")
    records = await play(system, GoldPolicy())
    assert [(r.outcome, r.attempts) for r in records] == [("answered", 2), ("answered", 1), ("answered", 1)]
    assert system.requests[0] == system.requests[1]


async def test_retries_end_at_the_allowed_number():
    failures = [AdapterConnectionError(str(n), retryable=True) for n in range(9)]
    records = await play(Fake(*failures), GoldPolicy(), patience=RetryPolicy(attempts=3, backoff_s=0.0))
    assert [(r.outcome, r.attempts, r.error) for r in records] == [("connection-failed", 3, "fake: 2")]


async def test_a_retry_after_beyond_the_budget_is_not_waited_for():
    busy = AdapterRateLimitedError("busy", retryable=True, retry_after_s=3600)
    records = await play(Fake(busy, "a"), GoldPolicy())
    assert [(r.outcome, r.attempts) for r in records] == [("rate-limited", 1)]


async def test_retry_after_is_honoured():
    busy = AdapterRateLimitedError("busy", retryable=True, retry_after_s=0.05)
    clock = FakeClock()
    records = await play(Fake(busy, "a", "b", "c"), GoldPolicy(), clock=clock)
    assert clock.slept == [0.05]
    assert records[0].attempts == 2


async def test_a_session_kept_by_the_system_is_not_asked_twice_once_reached():
    """The question could then stand in the system's history twice."""
    async with detector() as drift:
        policy = PredPolicy(detector=drift)
        reached = AdapterConnectionError("reset", retryable=True, reached=True)
        records = await play(Fake(reached, "a", history="server"), policy)
        assert [(r.outcome, r.attempts) for r in records] == [("connection-failed", 1)]
        unreached = AdapterConnectionError("refused", retryable=True, reached=False)
        records = await play(Fake(unreached, "a", "b", "c", history="server"), policy)
        assert records[0].attempts == 2


async def test_a_system_that_keeps_the_history_is_sent_none():
    system = Fake("a", "b", "c", history="server")
    async with detector() as drift:
        await play(system, PredPolicy(detector=drift))
    assert all(request.history == () for request in system.requests)


@pytest.mark.parametrize("text", [None, float("nan"), 7])
async def test_a_reply_that_holds_no_text_is_a_mistake_of_the_adapter(text):
    """SQLite would keep NaN as nothing: a turn that counts as answered, without an answer."""
    with pytest.raises(PluginError, match=r'system "fake": the text of .* reply is'):
        await play(Fake(ChatReply(text=text)), GoldPolicy())


async def test_a_mistake_in_a_plugin_is_no_failed_turn_and_names_its_line():
    class Unopened(Fake):
        @asynccontextmanager
        async def session(self, conversation):
            yield 1 / 0  # behind a frame of the standard library

    def unanswered(request, conversation):
        return request.parameters["none"]

    class Unplanned(GoldPolicy):
        async def plan(self, conversation, depth, played):
            return conversation.turns[depth + 9]

    for system, policy, said in (
        (Unopened(), GoldPolicy(), 'system "fake" fails to open conversation "c1": ZeroDivisionError'),
        (
            Fake(unanswered),
            GoldPolicy(),
            """system "fake" fails at turn 1 of conversation "c1": KeyError: 'none'""",
        ),
        (Fake("a", "b"), Unplanned(), 'policy "gold" fails at turn 1 of conversation "c1": IndexError'),
    ):
        with pytest.raises(PluginError, match=rf"^{re.escape(said)}.* \(test_player\.py, line \d+\)$"):
            await play(system, policy)


async def test_a_fault_of_our_own_is_not_blamed_on_a_plugin():
    with pytest.raises(LookupError, match="the script has 1 answers"):
        await play(Fake("a"), GoldPolicy())


async def test_own_answers_from_before_a_resume_stand_in_the_history():
    async with detector() as drift:
        policy = PredPolicy(detector=drift)
        whole = Fake("a", "b", "c")
        first = await play(whole, policy)
        resumed = Fake("c")
        await play(resumed, policy, records=first[:2])
    assert resumed.requests[0] == whole.requests[2]


async def test_a_cancelled_conversation_gets_out_and_keeps_what_was_answered():
    system = Fake("a", None)
    task = asyncio.create_task(play(system, GoldPolicy()))
    while len(system.requests) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def told(*prompts: str) -> tuple[Message, ...]:
    return tuple(Message(role="system", text=prompt) for prompt in prompts)


PROMPTED = Conversation(
    id="c",
    turns=(
        Turn(id="1", question="Who?", gold_answers=("Me.",), asked_with=told("Be brief.")),
        Turn(id="2", question="Why?", asked_with=told("Be kind.")),
        Turn(id="3", question="When?", gold_answers=("Now.",)),
        Turn(id="4", question="Where?", gold_answers=("Here.",), asked_with=told("Be quick.")),
    ),
)


async def test_turns_before_the_first_that_is_asked_are_shown_as_recorded():
    talk = replace(PROMPTED, asked_from=3)
    system = Fake("c", "d")
    records = await play(system, LastTwo(), talk)

    assert [record.depth for record in records] == [3, 4]
    assert [e.answer for e in system.requests[0].history] == ["Me."]
    assert [e.answer for e in system.requests[1].history] == ["Me.", "c"]
    assert is_over(talk, records, "stop")
    assert not is_over(talk, records[:1], "stop")


@dataclass(frozen=True)
class LastTwo:
    """Shows the last two exchanges only."""

    signature: ClassVar[str] = "last-two"
    history: ClassVar[Literal["own"]] = "own"

    async def plan(self, conversation, depth, played):
        question = conversation.turns[depth - 1].question
        return PlannedTurn(question=question, history=own_history(played)[-2:], edit="kept")


@pytest.mark.parametrize(
    ("policy", "shown", "last"),
    [
        # Turn 2 has no gold answer, so what stood before it stands before turn 3.
        (GoldPolicy(), [("Who?", told("Be brief.")), ("When?", told("Be kind."))], told("Be quick.")),
        (LastTwo(), [("Why?", told("Be brief.", "Be kind.")), ("When?", ())], told("Be quick.")),
    ],
)
async def test_system_prompts_stand_where_they_were_recorded_and_none_is_lost(policy, shown, last):
    system = Fake("a", "b", "c", "d")
    await play(system, policy, PROMPTED)
    request = system.requests[-1]

    assert system.requests[0].asked_with == told("Be brief.")
    assert [(e.question, e.asked_with) for e in request.history] == shown
    assert request.asked_with == last


async def test_a_system_that_keeps_the_history_is_given_each_system_prompt_once():
    system = Fake("a", "b", "c", "d", history="server")
    await play(system, LastTwo(), PROMPTED)

    assert [r.asked_with for r in system.requests] == [
        *(told("Be brief."), told("Be kind."), (), told("Be quick."))
    ]
