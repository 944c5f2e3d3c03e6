"""
Plays one conversation, turn after turn, and says what happens after a failure.

A failed ask becomes a record with an outcome; only a bug, coreference that can't go on, or an endpoint that
refuses our key is an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Protocol, cast

from msgspec.structs import replace

from replay.core.adapter import ChatReply, ChatRequest, RawReply, Session, WireTimes
from replay.core.asking.limits import Breaker, CircuitBreaker, FailureCounts
from replay.core.asking.retries import RetryingClient, RetryPolicy
from replay.core.conversation import Conversation
from replay.core.errors import AdapterCutOffError, AdapterError, PluginError
from replay.core.history import PlayedTurn, with_recorded_context
from replay.core.logs import ConversationLog, conversation_log
from replay.core.message import Message
from replay.core.record import Outcome, Step, Timing, TurnPlace, TurnRecord
from replay.core.settings.plugin_bugs import attributed_to
from replay.core.trace_ids import PlayTrace, RunTraces
from replay.play.event_loop import InFlightRequests
from replay.play.follow_ups import converse
from replay.play.play import Attempts, Pacer, Play, PlaySessions
from replay.play.tool_loop import ToolLoop
from replay.play.turn_record import OnFailure, ends_conversation, played_turn, turn_record, unasked_turn
from replay.policies.policy import PlannedTurn, reacting


class RecordSink(Protocol):
    """Where records go."""

    def write(self, record: TurnRecord) -> Awaitable[None]:
        """Return an awaitable that is done when *record* is durable; cancelling it doesn't undo the write."""
        ...


KeepStep = Callable[[TurnPlace, int, str, Step], Awaitable[None]]
"""Keeps a step of a turn by its number from 0, with the question as asked; to be awaited until durable."""
Unclosed = Callable[[Play, AdapterError], None]
"""Told of a session that could not be closed once its play was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayOptions:
    """How plays are played, and who is told of what is no record."""

    patience: RetryPolicy = field(default_factory=RetryPolicy)
    on_failure: OnFailure = "stop"
    clock: Callable[[], float] = perf_counter
    """Gives seconds."""
    start: float | None = None
    """The clock's reading when the run began; left out, when its player is made."""
    started_at: float | None = None
    """That moment in seconds since 1970."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits before a retry."""
    keep_raw: Callable[[RawReply], None] | None = None
    """Takes replies as they came, of systems whose replies are kept so."""
    keep_step: KeepStep | None = None
    """Takes what happens in a turn before its answer."""
    unclosed: Unclosed = lambda _, __: None
    traces: RunTraces | None = None
    """With them each ask carries its place in one."""
    breaker: CircuitBreaker | None = None
    """That of all who play, where there are others; ``system_breaker`` when left out."""


class Player:
    """Plays conversations one by one; between them it knows only how its systems stand."""

    def __init__(
        self, sink: RecordSink, options: PlayOptions, *, asks: InFlightRequests | None = None
    ) -> None:
        """Let records go to *sink*, and *asks* know which system is asked."""
        self._asks = asks or InFlightRequests()
        self._asker = RetryingClient(
            options.patience,
            clock=options.clock,
            sleep=options.sleep,
            breaker=options.breaker or system_breaker(options.patience),
        )
        self._sink = sink
        self._options = options
        self._clock = options.clock
        self._started_at = options.started_at
        self.start: float = options.clock() if options.start is None else options.start
        """May be changed between plays, as where another clock's reading of it is corrected."""

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
        played = [unasked_turn(turn) for turn in conversation.turns[: conversation.asked_from - 1]]
        played += [played_turn(conversation, record) for record in play.records]
        has_messages = any(turn.asked_with for turn in conversation.turns)
        due: float | None = None
        done: float | None = None
        traced = None
        if self._options.traces is not None:
            traced = self._options.traces.of(conversation.id, play.system.name, play.policy_name)
        if log is not None:
            log.log_begin(len(conversation.asked_depths))
        try:
            async with PlaySessions(play, self._asks, self._options.unclosed) as sessions:
                for depth in range(len(played) + 1, len(conversation.turns) + 1):
                    session = await sessions.of(conversation.turns[depth - 1])
                    # Planned before it is due: comparing histories is not the system's time.
                    turn = depth, conversation.id
                    with attributed_to(
                        'policy "%s" fails at turn %s of conversation "%s"', play.policy_name, *turn
                    ):
                        planned = await _plan(play, depth, tuple(played))
                    if planned.edit == "ended":
                        await self._sink.write(_skipped_record(play, depth, planned, self._started_at))
                        return
                    due = self._clock() if pacer is None else await pacer.next_due(depth, due, done)
                    if due is None:
                        return
                    if planned.edit == "filtered":
                        record, done = _skipped_record(play, depth, planned, self._started_at), due
                    else:
                        with attributed_to(
                            'system "%s" fails at turn %s of conversation "%s"', play.system.name, *turn
                        ):
                            record = await self._ask(
                                play, session, depth, planned, played, has_messages, due, log, traced
                            )
                        done = self._clock()
                    await self._sink.write(record)
                    if self._asker.breaker.stop is not None:
                        raise self._asker.breaker.stop
                    if ends_conversation(record, self._options.on_failure):
                        return
                    played.append(played_turn(conversation, record))
        finally:
            if log is not None:
                log.log_end()

    async def _ask(
        self,
        play: Play,
        session: Session,
        depth: int,
        planned: PlannedTurn,
        before: Sequence[PlayedTurn],
        has_messages: bool,
        due: float,
        log: ConversationLog | None,
        traced: PlayTrace | None,
    ) -> TurnRecord:
        """Ask the turn after those *before* it; *has_messages* where some turn has messages of its own."""
        system = play.system
        keeps_history = system.adapter.history == "server"
        history, asked_with = planned.history, tuple[Message, ...]()
        if has_messages:
            history, asked_with = with_recorded_context(history, before, play.conversation.turns[depth - 1])
        request = ChatRequest(
            question=planned.question,
            history=() if keeps_history else history,
            depth=depth,
            asked_with=asked_with,
            parameters={} if play.seed is None else {"seed": play.seed},
            keep_raw=system.keep_raw,
            runs_tools=system.tools is not None,
        )
        keep = self._options.keep_raw if system.keep_raw else None
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
                    log.log_cache_hit(depth)
                return outcome, 0, WireTimes(sent=self._clock(), done=self._clock())
            times = outcome.times or WireTimes(sent=sent, done=self._clock())
            if attempts is not None:
                attempts.answered(attempt, outcome, times)
            return outcome, attempt, times

        asked = await self._new_or_resumed_turn(play, place, planned)
        interventions = await converse(asked, ask, request, play, planned, before)
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
            interventions=interventions,
            started_at=self._started_at,
        )

    async def _new_or_resumed_turn(self, play: Play, place: TurnPlace, planned: PlannedTurn) -> ToolLoop:
        """Return the turn at *place*, new or resumed from the steps of an earlier session."""
        system, keep, begun = play.system, self._options.keep_step, play.begun
        has_steps = system.tools is not None or reacting(play.policy) is not None
        # A system that keeps the history has forgotten the turn with its session.
        if not has_steps or keep is None or system.adapter.history == "server":
            return ToolLoop(self._clock, prices=system.prices)
        is_begun = begun and begun.asked == planned.question and place[3] == play.first_depth
        steps = begun.steps if begun and is_begun else ()
        openings = planned.interventions[:1]
        if openings and not steps:
            # What somebody was paid for, or has written, is durable before it is said.
            question = Message(role="user", text=planned.question)
            await keep(
                place,
                0,
                planned.question,
                Step(message=question, times_s=(0.0, 0.0), intervention=openings[0]),
            )
        first = len(openings)
        return ToolLoop(
            self._clock,
            prices=system.prices,
            begun=steps[first:],
            keep=lambda number, step: keep(place, first + number, planned.question, step),
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
            server=times.server,
        )


async def _plan(play: Play, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
    """Plan the turn at *depth*; where a user worded it in an earlier session, with these words."""
    opening = play.begun.opening if play.begun and depth == play.first_depth else None
    user = None if opening is None else reacting(play.policy)
    if user is None or opening is None:
        return await play.policy.plan(play.conversation, depth, played)
    planned = await user.plan_again(play.conversation, depth, played, opening)
    if (view := getattr(play.policy, "view", None)) is None:
        return planned
    history, cut = view.apply(planned.history, play.conversation.turns[depth - 1].session)
    return replace(planned, history=history, history_cut=cut)


def _skipped_record(play: Play, depth: int, planned: PlannedTurn, started_at: float | None) -> TurnRecord:
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


def system_breaker(patience: RetryPolicy, counts: FailureCounts | None = None) -> Breaker:
    """Return a circuit breaker for systems, with the limits of *patience*; *counts* as for ``Breaker``."""
    way_out = " (play.fail_fast: false goes on all the same.)"
    return Breaker(patience.stop_after, fail_fast=patience.fail_fast, way_out=way_out, counts=counts)


def is_over(conversation: Conversation, records: Sequence[TurnRecord], on_failure: OnFailure) -> bool:
    """
    Return whether a play of *conversation* is complete.

    Args:
        conversation: The conversation.
        records: The play's records, in order of depth.
        on_failure: Whether a failed turn ends the conversation.
    """
    return len(records) == len(conversation.asked_depths) or (
        bool(records) and ends_conversation(records[-1], on_failure)
    )
