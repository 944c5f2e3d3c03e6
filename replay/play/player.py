"""
Plays one conversation, turn after turn, and says what happens after a failure.

A failed ask becomes a record with an outcome; only a bug, coreference that can't go on, or an endpoint that
refuses our key is an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Protocol, cast

from msgspec.structs import replace

from replay.core.adapter import ChatReply, ChatRequest, Session, WireTimes
from replay.core.asking.circuit_breaker import Breaker, CircuitBreaker
from replay.core.asking.patience import Patience, PatientAsker, UnopenedSession
from replay.core.asking.session import opened_session
from replay.core.conversation import Conversation
from replay.core.errors import AdapterCutOffError, AdapterError, PluginError
from replay.core.history import Played, as_recorded
from replay.core.logs import ConversationLog, conversation_log
from replay.core.message import Message
from replay.core.raw_reply import RawReply
from replay.core.record import Outcome, Timing, TurnRecord
from replay.core.settings.plugin_bugs import blaming
from replay.core.step import Step, TurnPlace
from replay.core.trace_ids import PlayTrace, RunTraces
from replay.play.attempts import Attempts
from replay.play.loop_lag import AsksUnderWay
from replay.play.play import Play
from replay.play.tool_loop import AskedTurn
from replay.play.turn_record import OnFailure, ends_conversation, played_of, recorded, turn_record
from replay.play.turn_schedule import Pacer
from replay.policies.policy import PlannedTurn


class RecordSink(Protocol):
    """Where records go."""

    def write(self, record: TurnRecord) -> Awaitable[None]:
        """To be awaited until *record* is durable. Cancelling the wait doesn't take the record back."""
        ...


KeepStep = Callable[[TurnPlace, int, str, Step], Awaitable[None]]
"""Keeps a step of a turn by its number from 0, with the question as asked; to be awaited until durable."""
Unclosed = Callable[[Play, AdapterError], None]
"""Told of a session that could not be closed once its play was over."""


class Player:
    """Plays conversations one by one; between them it knows only how its systems stand."""

    def __init__(
        self,
        patience: Patience,
        sink: RecordSink,
        *,
        clock: Callable[[], float],
        start: float,
        on_failure: OnFailure = "stop",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        keep_raw: Callable[[RawReply], None] | None = None,
        keep_step: KeepStep | None = None,
        unclosed: Unclosed = lambda _, __: None,
        asks: AsksUnderWay | None = None,
        started_at: float | None = None,
        traces: RunTraces | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """
        *clock* gives seconds, *start* is its reading when the engine started, *sleep* waits before a retry,
        *keep_raw* takes the replies of systems whose replies are kept, *keep_step* what happens in a turn
        before its answer, *asks* is told when one is asked, *breaker* how asks end: ``system_breaker`` when
        left out. *started_at* is *start* in seconds since 1970; with *traces* each ask carries its place in
        one.
        """
        self._asks = asks or AsksUnderWay()
        self._asker = PatientAsker(
            patience, clock=clock, sleep=sleep, breaker=breaker or system_breaker(patience)
        )
        self._sink = sink
        self._clock = clock
        self.start = start
        """May be changed between plays, as where another clock's reading of it is corrected."""
        self._on_failure = on_failure
        self._keep_raw = keep_raw
        self._keep_step = keep_step
        self._unclosed = unclosed
        self._started_at = started_at
        self._traces = traces

    async def play(self, play: Play, pacer: Pacer | None = None) -> None:
        """
        Play *play* from its first turn without a record to its end.

        Without a *pacer* each turn is due as soon as it is planned.

        Raises:
            PluginError: the policy or the adapter raised what is no error of ours.
            ResolverError: drift could not be detected.
            RunStoppedError: a system refuses our key, or fails again and again.
        """
        conversation = play.conversation
        log = conversation_log(system=play.system.name, policy=play.policy_name, conversation=conversation.id)
        played = [recorded(turn) for turn in conversation.turns[: conversation.asked_from - 1]]
        played += [played_of(conversation, record) for record in play.records]
        asked_with = played if any(turn.asked_with for turn in conversation.turns) else None
        due: float | None = None
        done: float | None = None
        traced = None
        if self._traces is not None:
            traced = self._traces.of(conversation.id, play.system.name, play.policy_name)
        async with AsyncExitStack() as stack:
            if log is not None:
                log.began(len(conversation.asked_depths))
                stack.callback(log.ended)
            session: Session
            system = play.system.name
            try:
                with blaming('system "%s" fails to open conversation "%s"', system, conversation.id):
                    opening = opened_session(
                        play.system.adapter, play.asked_about, partial(self._unclosed, play)
                    )
                    session = await stack.enter_async_context(opening)
                session = self._asks.watched(system, session)
            except AdapterError as error:
                session = UnopenedSession(error)
            for depth in range(len(played) + 1, len(conversation.turns) + 1):
                # Planned before it is due: comparing histories is not the system's time.
                turn = depth, conversation.id
                with blaming('policy "%s" fails at turn %s of conversation "%s"', play.policy_name, *turn):
                    planned = await play.policy.plan(conversation, depth, tuple(played))
                due = self._clock() if pacer is None else await pacer.next_due(depth, due, done)
                if due is None:
                    return
                if planned.edit == "filtered":
                    record, done = _skipped(play, depth, planned, self._started_at), due
                else:
                    with blaming('system "%s" fails at turn %s of conversation "%s"', system, *turn):
                        record = await self._ask(play, session, depth, planned, asked_with, due, log, traced)
                    done = self._clock()
                await self._sink.write(record)
                if self._asker.breaker.stop is not None:
                    raise self._asker.breaker.stop
                if ends_conversation(record, self._on_failure):
                    return
                played.append(played_of(conversation, record))

    async def _ask(
        self,
        play: Play,
        session: Session,
        depth: int,
        planned: PlannedTurn,
        played: Sequence[Played] | None,
        due: float,
        log: ConversationLog | None,
        traced: PlayTrace | None,
    ) -> TurnRecord:
        """Ask the turn; *played* is what came before it, None where no turn has messages of its own."""
        system = play.system
        keeps_history = system.adapter.history == "server"
        history, asked_with = planned.history, tuple[Message, ...]()
        if played is not None:
            history, asked_with = as_recorded(history, played, play.conversation.turns[depth - 1])
        request = ChatRequest(
            question=planned.question,
            history=() if keeps_history else history,
            depth=depth,
            asked_with=asked_with,
            parameters={} if play.seed is None else {"seed": play.seed},
            keep_raw=system.keep_raw,
            runs_tools=system.tools is not None,
        )
        keep = self._keep_raw if system.keep_raw else None
        place = (play.conversation.id, system.name, play.policy_name, depth)
        attempts = None if log is None and keep is None else Attempts(place, log, keep)

        async def ask(request: ChatRequest, before: int) -> tuple[ChatReply | AdapterError, int, WireTimes]:
            if attempts is not None:
                attempts.before = before
            if traced is not None:
                here = traced.traceparent(depth, asked.asks, self._started_at)
                request = replace(request, traceparent=here)
            asking = partial(
                self._asker.ask,
                system,
                session,
                request,
                place=place,
                session_remembers=keeps_history,
                watcher=attempts,
            )
            if system.answers is not None:
                kept = partial(system.answers.reply, asking, play.asked_about, request, play.repeat)
                asking = partial(kept, anew=play.anew)
            outcome, attempt, sent, done = await asking()
            if isinstance(outcome, AdapterError):
                return outcome, attempt, WireTimes(sent=sent, done=done)
            if not isinstance(outcome.text, str):  # as NaN it would be stored as an answer of nothing
                is_none = f"the text of its adapter's reply is {outcome.text!r:.60}, not a str"
                raise PluginError(f'system "{system.name}": {is_none}')
            if attempt == 0:
                if log is not None:
                    log.recalled(depth)
                return outcome, 0, WireTimes(sent=self._clock(), done=self._clock())
            times = outcome.times or WireTimes(sent=sent, done=self._clock())
            if attempts is not None:
                attempts.answered(attempt, outcome, times)
            return outcome, attempt, times

        asked = self._begun(play, place, planned)
        await asked.go_through(ask, request, system.tools, play.conversation)
        outcome, times = asked.outcome, asked.times
        usage, cost_usd = asked.spent
        failure = outcome if isinstance(outcome, AdapterError) else None
        is_cached = asked.is_cached
        return turn_record(
            play.conversation,
            depth,
            planned,
            "answered" if failure is None else cast(Outcome, failure.outcome),
            system=system.name,
            policy=play.policy_name,
            attempts=asked.attempts,
            asks=asked.asks,
            reply=outcome if isinstance(outcome, ChatReply) else None,
            steps=asked.steps,
            step_times_s=() if is_cached else asked.step_times_s,
            error=None if failure is None else f"{system.name}: {failure}",
            partial=failure.partial if isinstance(failure, AdapterCutOffError) else None,
            timing=None if is_cached else self._timing(times.sent if asked.is_resumed else due, times),
            usage=usage,
            cost_usd=cost_usd,
            source=play.source,
            repeat=play.repeat,
            cached=is_cached,
            started_at=self._started_at,
        )

    def _begun(self, play: Play, place: TurnPlace, planned: PlannedTurn) -> AskedTurn:
        """The turn at *place* before it is asked, or as far as an earlier session came with it."""
        system, keep, begun = play.system, self._keep_step, play.begun
        # A system that keeps the history has forgotten the turn with its session.
        if system.tools is None or keep is None or system.adapter.history == "server":
            return AskedTurn(self._clock, prices=system.prices)
        is_begun = begun and begun.asked == planned.question and place[3] == play.first_depth
        return AskedTurn(
            self._clock,
            prices=system.prices,
            begun=begun.steps if begun and is_begun else (),
            keep=lambda number, step: keep(place, number, planned.question, step),
        )

    def _timing(self, due: float, times: WireTimes) -> Timing:
        start = self.start
        return Timing(
            scheduled_s=due - start,
            sent_s=times.sent - start,
            done_s=times.done - start,
            first_byte_s=None if times.first_byte is None else times.first_byte - start,
            first_token_s=None if times.first_token is None else times.first_token - start,
            token_gaps_100us=times.token_gaps_100us,
        )


def _skipped(play: Play, depth: int, planned: PlannedTurn, started_at: float | None) -> TurnRecord:
    return turn_record(
        play.conversation,
        depth,
        planned,
        "skipped",
        system=play.system.name,
        policy=play.policy_name,
        attempts=0,
        asks=0,
        source=play.source,
        repeat=play.repeat,
        started_at=started_at,
    )


def system_breaker(patience: Patience) -> Breaker:
    """When systems are asked no more, as *patience* has it."""
    way_out = " (play.fail_fast: false goes on all the same.)"
    return Breaker(patience.stop_after, fail_fast=patience.fail_fast, way_out=way_out)


def is_over(conversation: Conversation, records: Sequence[TurnRecord], on_failure: OnFailure) -> bool:
    """Whether *records*, in order of depth, are all that will ever be known of the conversation."""
    return len(records) == len(conversation.asked_depths) or (
        bool(records) and ends_conversation(records[-1], on_failure)
    )
