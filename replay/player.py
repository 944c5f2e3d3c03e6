"""
Plays one conversation, turn after turn: deadline, retries, and what happens after a failure.

The one place that sets a deadline, the one place that retries. A failed ask becomes a record with an
outcome; only a bug, or coreference that can't go on, is an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Literal, Protocol, cast

from replay.adapter import Adapter, ChatReply, ChatRequest, Session, WireTimes
from replay.conversation import Conversation
from replay.errors import AdapterError
from replay.history import Played
from replay.load.politeness import PolitenessLimit
from replay.policies.policy import PlannedTurn, Policy
from replay.record import Outcome, Timing, TurnRecord
from replay.retrying import ask_within, pause_before_retry

OnFailure = Literal["stop", "gold"]
"""``stop``: the conversation ends at its first failed ask. ``gold``: the gold answer stands in for the
missing one and the conversation goes on (it ends all the same where no gold answer is known)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSettings:
    """How one question is asked."""

    timeout_s: float = 60.0
    """Deadline of each attempt."""
    attempts: int = 4
    """Asks at most, the first included."""
    backoff_s: float = 0.5
    """Longest wait before the first retry; doubled for each further one, drawn evenly from [0, wait]
    ("full jitter"), so that conversations that failed together don't return together."""
    retry_budget_s: float = 60.0
    """No retry begins later than this after the first attempt failed, whatever ``Retry-After`` asks."""
    on_failure: OnFailure = "stop"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system under test."""

    name: str
    adapter: Adapter
    limit: PolitenessLimit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One conversation to be played with one system under one policy."""

    system: System
    policy_name: str
    policy: Policy
    conversation: Conversation
    records: tuple[TurnRecord, ...] = ()
    """Turns that are durable from an earlier session of the run, in order."""


class RecordSink(Protocol):
    """Where records go."""

    async def write(self, record: TurnRecord) -> None:
        """Return when *record* is durable. Cancelling the wait doesn't take the record back."""
        ...


class Player:
    """Plays conversations one by one; holds no state between them."""

    def __init__(
        self, settings: AskSettings, sink: RecordSink, *, clock: Callable[[], float], start: float
    ) -> None:
        """*clock* gives seconds, *start* is its reading when the engine started."""
        self._settings = settings
        self._sink = sink
        self._clock = clock
        self._start = start

    async def play(self, play: Play) -> None:
        """
        Play *play* from its first turn without a record to its end.

        Raises:
            ResolverError: drift could not be judged.
        """
        played = [_played(play.conversation, record) for record in play.records]
        turns = play.conversation.turns
        async with AsyncExitStack() as stack:
            session: Session | AdapterError
            try:
                session = await stack.enter_async_context(play.system.adapter.session(play.conversation))
            except AdapterError as error:
                session = error
            for depth in range(len(played) + 1, len(turns) + 1):
                planned = await play.policy.plan(play.conversation, depth, tuple(played))
                record = _blank(play, depth, planned)
                if planned.edit != "filtered":
                    record = await self._ask(play.system, session, record, planned)
                await self._sink.write(record)
                if ends_conversation(record, self._settings.on_failure):
                    return
                played.append(_played(play.conversation, record))

    async def _ask(
        self, system: System, session: Session | AdapterError, record: TurnRecord, planned: PlannedTurn
    ) -> TurnRecord:
        history = planned.history if system.adapter.history == "client" else ()
        request = ChatRequest(question=planned.question, history=history, depth=record.depth)
        scheduled = self._clock()
        first_failure: float | None = None
        attempt = 0
        while True:
            attempt += 1
            if system.limit is not None:
                await system.limit.wait()
            sent = self._clock()
            try:
                if isinstance(session, AdapterError):
                    raise session
                reply = await ask_within(session, request, self._settings.timeout_s)
                done = self._clock()
                return self._answered(replace(record, attempts=attempt), reply, scheduled, sent, done)
            except AdapterError as error:
                done = self._clock()
                first_failure = done if first_failure is None else first_failure
                pause = self._pause_before_retry(system, record, error, attempt, done - first_failure)
                if pause is None or isinstance(session, AdapterError):
                    timing = self._timing(scheduled, WireTimes(sent=sent, done=done))
                    return replace(
                        record,
                        outcome=cast(Outcome, error.outcome),
                        error=str(error),
                        attempts=attempt,
                        timing=timing,
                    )
            await asyncio.sleep(pause)

    def _pause_before_retry(
        self, system: System, record: TurnRecord, error: AdapterError, attempt: int, since_failure_s: float
    ) -> float | None:
        """Seconds to wait before asking again; None when this failure is final."""
        if system.adapter.history == "server" and error.reached:
            return None  # the question may already stand in the session's history
        where = (self._settings.seed, record.system, record.policy, record.conversation, record.depth)
        return pause_before_retry(
            self._settings,
            error,
            attempt=attempt,
            since_failure_s=since_failure_s,
            place="|".join(map(str, where)),
        )

    def _answered(
        self, record: TurnRecord, reply: ChatReply, scheduled: float, sent: float, done: float
    ) -> TurnRecord:
        return replace(
            record,
            outcome="answered",
            answer=reply.text,
            passages=reply.passages,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            timing=self._timing(scheduled, reply.times or WireTimes(sent=sent, done=done)),
        )

    def _timing(self, scheduled: float, times: WireTimes) -> Timing:
        return Timing(
            scheduled_s=scheduled - self._start,
            sent_s=times.sent - self._start,
            done_s=times.done - self._start,
            first_byte_s=None if times.first_byte is None else times.first_byte - self._start,
            first_token_s=None if times.first_token is None else times.first_token - self._start,
        )


def ends_conversation(record: TurnRecord, on_failure: OnFailure) -> bool:
    """Whether nothing can be asked after *record*."""
    return record.failed and (on_failure == "stop" or not record.gold_answers)


def is_over(conversation: Conversation, records: Sequence[TurnRecord], on_failure: OnFailure) -> bool:
    """Whether *records*, in order of depth, are all that will ever be known of the conversation."""
    return len(records) == len(conversation.turns) or (
        bool(records) and ends_conversation(records[-1], on_failure)
    )


def _blank(play: Play, depth: int, planned: PlannedTurn) -> TurnRecord:
    """The record of a turn before it is asked; final as it is when the turn is skipped."""
    turn = play.conversation.turns[depth - 1]
    return TurnRecord(
        system=play.system.name,
        policy=play.policy_name,
        conversation=play.conversation.id,
        depth=depth,
        turn=turn.id,
        recorded=turn.question,
        asked=planned.question,
        edit=planned.edit,
        edit_note=planned.edit_note,
        drift=planned.drift,
        outcome="skipped",
        answer=None,
        gold_answers=turn.gold_answers,
        gold_passages=turn.gold_passages,
        attempts=0,
    )


def _played(conversation: Conversation, record: TurnRecord) -> Played:
    """What *record* left behind in the system's own history."""
    turn = conversation.turns[record.depth - 1]
    answer = turn.gold_answer if record.failed else record.answer
    return Played(turn=turn, asked=record.asked, answer=answer)
