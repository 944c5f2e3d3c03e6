"""
Plays one conversation, turn after turn: deadline, retries, and what happens after a failure.

The one place that sets a deadline, the one place that retries. A failed ask becomes a record with an
outcome; only a bug, or coreference that can't go on, is an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from replay.core.adapter import Adapter, ChatReply, ChatRequest, Session, WireTimes
from replay.core.asking.circuit_breaker import Breaker
from replay.core.asking.politeness import PolitenessLimit
from replay.core.asking.retrying import Deadlines, ask_within, pause_before_retry
from replay.core.conversation import Conversation
from replay.core.errors import AdapterCutOffError, AdapterError
from replay.core.history import Played
from replay.core.logs import ConversationLog, conversation_log
from replay.core.raw_reply import RawReply
from replay.core.record import Outcome, Timing, TurnRecord
from replay.core.secret_hiding import hide_in_error
from replay.core.settings.prices import Prices, cost_usd
from replay.play.turn_schedule import Pacer
from replay.policies.policy import PlannedTurn, Policy

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
    stop_after: int | None = None
    """Failed asks of one system in a row after which the run stops; None where it never does."""
    fail_fast: bool = True
    """Stop at once where a system refuses our key before it answered anything."""
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system under test."""

    name: str
    adapter: Adapter
    limit: PolitenessLimit | None = None
    keep_raw: bool = False
    """Its replies are kept as they came."""
    prices: Prices | None = None
    """For replies that don't say themselves what they cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One conversation to be played with one system under one policy."""

    system: System
    policy_name: str
    policy: Policy
    conversation: Conversation
    records: tuple[TurnRecord, ...] = ()
    """Turns that are durable from an earlier session of the run, in order."""
    source: str | None = None
    """The conversation's id in the data where it is played once more under another id."""


class RecordSink(Protocol):
    """Where records go."""

    def write(self, record: TurnRecord) -> Awaitable[None]:
        """To be awaited until *record* is durable. Cancelling the wait doesn't take the record back."""
        ...


class Player:
    """Plays conversations one by one; between them it knows only how its systems stand."""

    def __init__(
        self,
        settings: AskSettings,
        sink: RecordSink,
        *,
        clock: Callable[[], float],
        start: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        keep_raw: Callable[[RawReply], None] | None = None,
    ) -> None:
        """
        *clock* gives seconds, *start* is its reading when the engine started, *sleep* waits before a retry,
        *keep_raw* takes the replies of systems whose replies are kept.
        """
        self._keep_raw = keep_raw
        self._settings = settings
        self._sink = sink
        self._clock = clock
        self._start = start
        self._sleep = sleep
        self._deadlines = Deadlines(settings.timeout_s)
        self._breaker = Breaker(settings.stop_after, fail_fast=settings.fail_fast)

    async def play(self, play: Play, pacer: Pacer | None = None) -> None:
        """
        Play *play* from its first turn without a record to its end.

        Without a *pacer* each turn is due as soon as it is planned.

        Raises:
            ResolverError: drift could not be judged.
            RunStoppedError: a system refuses our key, or fails again and again.
        """
        conversation = play.conversation
        log = conversation_log(system=play.system.name, policy=play.policy_name, conversation=conversation.id)
        played = [_played(conversation, record) for record in play.records]
        due: float | None = None
        done: float | None = None
        async with AsyncExitStack() as stack:
            if log is not None:
                log.began(len(conversation.turns))
                stack.callback(log.ended)
            session: Session | AdapterError
            try:
                session = await stack.enter_async_context(play.system.adapter.session(conversation))
            except AdapterError as error:
                hide_in_error(error)
                session = error
            for depth in range(len(played) + 1, len(conversation.turns) + 1):
                # Planned before it is due: comparing histories is not the system's time.
                planned = await play.policy.plan(conversation, depth, tuple(played))
                due = self._clock() if pacer is None else await pacer.next_due(depth, due, done)
                if due is None:
                    return
                if planned.edit == "filtered":
                    record, done = self._record(play, depth, planned, outcome="skipped", attempts=0), due
                else:
                    record = await self._ask(play, session, depth, planned, due, log)
                    done = self._clock()
                await self._sink.write(record)
                if self._breaker.stop is not None:
                    raise self._breaker.stop
                if ends_conversation(record, self._settings.on_failure):
                    return
                played.append(_played(conversation, record))

    async def _ask(
        self,
        play: Play,
        session: Session | AdapterError,
        depth: int,
        planned: PlannedTurn,
        due: float,
        log: ConversationLog | None,
    ) -> TurnRecord:
        system = play.system
        history = planned.history if system.adapter.history == "client" else ()
        request = ChatRequest(
            question=planned.question, history=history, depth=depth, keep_raw=system.keep_raw
        )
        first_failure: float | None = None
        attempt = 0
        while True:
            attempt += 1
            if system.limit is not None:
                await system.limit.wait()
            sent = self._clock()
            if log is not None:
                log.sent(depth, attempt)
            try:
                if isinstance(session, AdapterError):
                    raise session
                reply = await ask_within(session, request, self._deadlines)
            except AdapterError as error:
                done = self._clock()
                first_failure = done if first_failure is None else first_failure
                pause = self._pause_before_retry(play, depth, error, attempt, done - first_failure)
                if isinstance(session, AdapterError):
                    pause = None
                if error.raw is not None:
                    self._keep(play, depth, attempt, error.outcome, error.raw)
                if log is not None:
                    log.failed(depth, attempt, error.outcome, str(error), pause)
                if pause is None:
                    self._breaker.failed(system.name, error)
                    return self._record(
                        play,
                        depth,
                        planned,
                        outcome=cast(Outcome, error.outcome),
                        attempts=attempt,
                        error=f"{system.name}: {error}",
                        partial=error.partial if isinstance(error, AdapterCutOffError) else None,
                        timing=self._timing(due, WireTimes(sent=sent, done=done)),
                    )
            else:
                self._breaker.answered(system.name)
                times = reply.times or WireTimes(sent=sent, done=self._clock())
                if log is not None:
                    log.answered(depth, attempt, times.done - times.sent)
                if reply.raw is not None:
                    self._keep(play, depth, attempt, "answered", reply.raw)
                timing = self._timing(due, times)
                return self._record(play, depth, planned, "answered", attempt, reply=reply, timing=timing)
            await self._sleep(pause)

    def _keep(self, play: Play, depth: int, attempt: int, outcome: str, raw: bytes) -> None:
        if play.system.keep_raw and self._keep_raw is not None:
            self._keep_raw(
                RawReply(
                    conversation=play.conversation.id,
                    system=play.system.name,
                    policy=play.policy_name,
                    depth=depth,
                    attempt=attempt,
                    outcome=outcome,
                    data=raw,
                )
            )

    def _pause_before_retry(
        self, play: Play, depth: int, error: AdapterError, attempt: int, since_failure_s: float
    ) -> float | None:
        """Seconds to wait before asking again; None when this failure is final."""
        if play.system.adapter.history == "server" and error.reached:
            return None  # the question may already stand in the session's history
        where = (self._settings.seed, play.system.name, play.policy_name, play.conversation.id, depth)
        return pause_before_retry(
            self._settings,
            error,
            attempt=attempt,
            since_failure_s=since_failure_s,
            place="|".join(map(str, where)),
        )

    def _record(
        self,
        play: Play,
        depth: int,
        planned: PlannedTurn,
        outcome: Outcome,
        attempts: int,
        *,
        reply: ChatReply | None = None,
        error: str | None = None,
        partial: str | None = None,
        timing: Timing | None = None,
    ) -> TurnRecord:
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
            outcome=outcome,
            answer=None if reply is None else reply.text,
            error=error,
            gold_answers=turn.gold_answers,
            gold_passages=turn.gold_passages,
            passages=() if reply is None else reply.passages,
            usage=None if reply is None else reply.usage,
            cost_usd=None if reply is None else cost_usd(reply, play.system.prices),
            attempts=attempts,
            timing=timing,
            source=play.source,
            partial=partial,
        )

    def _timing(self, due: float, times: WireTimes) -> Timing:
        start = self._start
        return Timing(
            scheduled_s=due - start,
            sent_s=times.sent - start,
            done_s=times.done - start,
            first_byte_s=None if times.first_byte is None else times.first_byte - start,
            first_token_s=None if times.first_token is None else times.first_token - start,
            token_gaps_100us=times.token_gaps_100us,
        )


def ends_conversation(record: TurnRecord, on_failure: OnFailure) -> bool:
    """Whether nothing can be asked after *record*."""
    return record.failed and (on_failure == "stop" or not record.gold_answers)


def is_over(conversation: Conversation, records: Sequence[TurnRecord], on_failure: OnFailure) -> bool:
    """Whether *records*, in order of depth, are all that will ever be known of the conversation."""
    return len(records) == len(conversation.turns) or (
        bool(records) and ends_conversation(records[-1], on_failure)
    )


def _played(conversation: Conversation, record: TurnRecord) -> Played:
    """What *record* left behind in the system's own history."""
    turn = conversation.turns[record.depth - 1]
    answer = turn.gold_answer if record.failed else record.answer
    return Played(turn=turn, asked=record.asked, answer=answer)
