"""
What becomes of one turn: every field of its record, the times it was played at, and its raw replies.

What the plays of one conversation are called.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given, strategies as st

from replay.core.adapter import ChatReply, ChatRequest, RawReply, WireTimes
from replay.core.asking.costs import Prices
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation, Passage, Turn
from replay.core.drift_evidence import Drift
from replay.core.errors import AdapterConnectionError, AdapterCutOffError, AdapterError, AdapterRefusedError
from replay.core.history import Exchange, PlayedTurn
from replay.core.record import ServerTimes, Timing, TurnRecord, Usage
from replay.play.play import Play, System, repeat_conversation, repetition_mark
from replay.play.player import Player, PlayOptions
from replay.policies.policy import PlannedTurn
from replay.testing import FakeClock
from tests.samples import Recorded

TALK = Conversation(
    id="c1",
    turns=(
        Turn(id="c1#1", question="Who?", gold_answers=("Mira.", "Mira Okafor."), gold_passages=("p7",)),
        Turn(id="c1#2", question="Where was she born?", gold_answers=("In Port Ellis.",)),
    ),
)
DRIFT = Drift(valid=False, mentions=(), mode="strict")
REPLY = ChatReply(
    text="Dilys.",
    passages=(Passage(id="p1", text="Dilys wrote it."),),
    usage=Usage(prompt_tokens=100, completion_tokens=10),
    times=WireTimes(
        sent=12.0,
        done=19.0,
        first_byte=13.0,
        first_token=14.0,
        token_gaps_100us=(3, 4),
        server=ServerTimes(queue_s=1.0),
    ),
    raw=b"{}",
)


@dataclass
class Planned:
    """A policy that asks in other words, and says why not better."""

    edit: str = "rewrite-failed"
    seen: list[tuple[int, Sequence[PlayedTurn]]] = field(default_factory=list)
    signature = "planned"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        self.seen.append((depth, played))
        return PlannedTurn(
            question=f"Asked {depth}?",
            history=tuple(Exchange(question=p.asked, answer=p.answer or "") for p in played),
            edit=self.edit,  # type: ignore[arg-type]
            edit_note="no words",
            drift=DRIFT,
        )


class Giving:
    """A system that gives *replies* in turn, whatever the session."""

    history = "client"

    def __init__(self, *replies: ChatReply | AdapterError, opens: AdapterError | None = None) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []
        self.opens = opens

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[Giving]:
        if self.opens:
            raise self.opens
        yield self

    async def ask(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, AdapterError):
            raise reply
        return reply


@dataclass
class Beat:
    """A pace by hand; ends the conversation when it has no more moments."""

    moments: list[float]
    given: list[tuple[int, float | None, float | None]] = field(default_factory=list)

    async def next_due(self, depth: int, due: float | None, done: float | None) -> float | None:
        self.given.append((depth, due, done))
        return self.moments.pop(0) if self.moments else None


async def played(
    adapter: Giving, policy: Planned | None = None, pacer: Beat | None = None, *, attempts: int = 1, **system
) -> tuple[list[TurnRecord], list[RawReply]]:
    """Records and raw replies of TALK, on a clock that is one second later at each look."""
    sink, raw = Recorded(), []
    options = PlayOptions(
        patience=RetryPolicy(backoff_s=0.0, attempts=attempts),
        clock=FakeClock(step_s=1.0),
        start=-100.0,
        keep_raw=raw.append,
    )
    player = Player(sink, options)
    await player.play(
        Play(
            system=System(name="bot", adapter=adapter, **system),
            policy_name="planned",
            policy=policy or Planned(),
            conversation=TALK,
            source="original",
        ),
        pacer,
    )
    return sink.records, raw


async def test_every_field_of_an_answered_turn_has_its_source():
    (first, _), _ = await played(
        Giving(REPLY, REPLY), pacer=Beat([11.0, 21.0]), prices=Prices(prompt_usd=1, completion_usd=50)
    )

    assert first == TurnRecord(
        system="bot",
        policy="planned",
        conversation="c1",
        depth=1,
        turn="c1#1",
        recorded="Who?",
        asked="Asked 1?",
        edit="rewrite-failed",
        edit_note="no words",
        drift=DRIFT,
        outcome="answered",
        answer="Dilys.",
        error=None,
        gold_answers=("Mira.", "Mira Okafor."),
        gold_passages=("p7",),
        passages=REPLY.passages,
        usage=REPLY.usage,
        cost_usd=pytest.approx(0.0006),
        attempts=1,
        timing=Timing(
            scheduled_s=111.0,
            sent_s=112.0,
            done_s=119.0,
            first_byte_s=113.0,
            first_token_s=114.0,
            token_gaps_100us=(3, 4),
            server=ServerTimes(queue_s=1.0),
        ),
        source="original",
        partial=None,
    )


async def test_a_reply_without_times_of_its_own_is_timed_around_the_ask():
    (first, second), _ = await played(Giving(*[msgspec.structs.replace(REPLY, times=None)] * 2))

    for record in (first, second):
        timing = record.timing
        assert 100 <= timing.scheduled_s < timing.sent_s < timing.done_s
        assert (timing.first_byte_s, timing.first_token_s, timing.token_gaps_100us) == (None, None, ())
    assert second.timing.scheduled_s > first.timing.done_s


async def test_what_came_of_a_reply_that_was_cut_off_is_kept():
    error = AdapterCutOffError("connection lost", partial="Dil")
    (only,), _ = await played(Giving(error))

    assert (only.outcome, only.answer, only.partial) == ("cut-off", None, "Dil")
    assert only.error == "bot: connection lost"
    assert only.timing.scheduled_s < only.timing.sent_s < only.timing.done_s
    assert (only.passages, only.usage, only.cost_usd, only.timing.first_byte_s) == ((), None, None, None)


async def test_a_filtered_question_is_not_asked_and_has_neither_attempt_nor_time():
    system, pacer = Giving(), Beat([7.0, 8.0])
    (first, second), _ = await played(system, Planned(edit="filtered"), pacer)

    assert system.requests == []
    assert [(r.outcome, r.attempts, r.timing, r.answer) for r in (first, second)] == [
        ("skipped", 0, None, None)
    ] * 2
    assert pacer.given == [(1, None, None), (2, 7.0, 7.0)], "over the moment it was due"


async def test_a_pacer_is_given_when_the_turn_before_was_due_and_over_and_may_end_the_conversation():
    system, pacer = Giving(REPLY), Beat([5.0])
    records, _ = await played(system, pacer=pacer)

    assert [r.depth for r in records] == [1]
    (_, *before), (depth, due, done) = pacer.given
    assert before == [None, None]
    assert (depth, due) == (2, 5.0)
    assert done is not None


async def test_a_policy_sees_what_was_really_asked_and_answered():
    policy, system = Planned(), Giving(REPLY, REPLY)
    await played(system, policy)

    assert policy.seen == [(1, ()), (2, (PlayedTurn(turn=TALK.turns[0], asked="Asked 1?", answer="Dilys."),))]
    assert [(r.question, r.depth, r.history) for r in system.requests] == [
        ("Asked 1?", 1, ()),
        ("Asked 2?", 2, (Exchange(question="Asked 1?", answer="Dilys."),)),
    ]


async def test_a_session_that_can_t_be_opened_is_a_failed_first_turn():
    (only,), _ = await played(Giving(opens=AdapterConnectionError("nobody there", reached=False)))

    assert (only.depth, only.outcome, only.error) == (1, "connection-failed", "bot: nobody there")


async def test_raw_replies_are_kept_attempt_by_attempt_where_that_is_asked_for():
    lost = AdapterConnectionError("reset", retryable=True)
    lost.raw = b"busy"
    system = Giving(lost, REPLY, REPLY)
    _, raw = await played(system, attempts=2, keep_raw=True)

    assert all(request.keep_raw for request in system.requests)
    assert [(r.depth, r.attempt, r.outcome, r.data) for r in raw] == [
        (1, 1, "connection-failed", b"busy"),
        (1, 2, "answered", b"{}"),
        (2, 1, "answered", b"{}"),
    ]
    assert {(r.conversation, r.system, r.policy) for r in raw} == {("c1", "bot", "planned")}


async def test_nothing_is_kept_where_nothing_came_or_nobody_asked():
    bare = msgspec.structs.replace(REPLY, raw=None)
    _, nothing_came = await played(Giving(AdapterRefusedError("no"), bare), keep_raw=True)
    system = Giving(REPLY, REPLY)
    _, nobody_asked = await played(system)

    assert nothing_came == nobody_asked == []
    assert not any(request.keep_raw for request in system.requests)


def some(*ids: str) -> list[Conversation]:
    return [Conversation(id=name, turns=(Turn(id="1", question="Hello?"),)) for name in ids]


def test_a_conversation_played_again_differs_in_its_id_alone():
    (album,) = some("album")

    assert repeat_conversation(album, 1) is album
    again = repeat_conversation(album, 3)
    assert again.id == "album~3"
    assert again.turns is album.turns
    assert again.metadata is album.metadata


def test_an_id_of_the_data_that_looks_like_a_repetition_gets_a_longer_mark():
    assert repetition_mark(["a", "b~", "c~x", "~", "2"]) == "~"
    assert repetition_mark(["a", "a~2"]) == "~~"
    assert repetition_mark(["a", "a~~~10", "b~1"]) == "~~~~"
    assert repetition_mark([]) == "~"


@given(st.sets(st.text(alphabet="a~12٣\n", max_size=5), min_size=1))
def test_no_two_plays_ever_share_an_id(ids):
    conversations = some(*sorted(ids))
    mark = repetition_mark(ids)
    played = [
        repeat_conversation(conversation, repetition, mark).id
        for conversation in conversations
        for repetition in (1, 2, 3, 11, 12, 21, 111)
    ]
    assert len(set(played)) == len(played)
