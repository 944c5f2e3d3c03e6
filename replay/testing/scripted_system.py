"""A system under test that says what it is told to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any

from msgspec.structs import replace

from replay.core.adapter import Adapter, ChatReply, ChatRequest, HistoryKeeper
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation
from replay.core.errors import (
    AdapterConnectionError,
    AdapterCutOffError,
    AdapterError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterTimeoutError,
)
from replay.core.history import Exchange
from replay.core.record import TurnRecord
from replay.play.play import Play, System
from replay.play.player import Player, PlayOptions
from replay.play.tool_results import Tools
from replay.play.turn_record import OnFailure
from replay.policies.policy import Policy
from replay.testing.fake_clock import FakeClock

Answer = str | ChatReply | AdapterError | None
"""A text, a whole reply, a failure, or None for an ask that never ends."""

Answering = Callable[[ChatRequest, Conversation], Answer | Awaitable[Answer]]
"""Takes the request, with its history whoever keeps that, and the conversation that it belongs to."""


class ScriptedSystem:
    """
    An adapter for tests, and the system behind it.

    ``ScriptedSystem("Ann.", "In 1990.")`` gives every session these answers, one ask after the other;
    ``ScriptedSystem({"Who sang?": "Ann."})`` answers by question; ``ScriptedSystem(function)`` calls the
    function, which may be ``async``. An answer is a text, a ``ChatReply``, a ``failure(...)`` to be raised,
    or None, which never comes. What a script has no answer for is a ``LookupError``, not a failed turn.
    """

    def __init__(
        self,
        *answers: Answer | Mapping[str, Answer] | Answering,
        history: HistoryKeeper = "client",
        delay_s: float = 0.0,
        clock: FakeClock | None = None,
    ) -> None:
        """
        With *history* ``server`` a session remembers what was asked and answered in it. Every reply comes
        *delay_s* after its question, on *clock*: nobody waits for it.
        """
        self.answers = answers
        self.history = history
        self.delay_s = delay_s
        self.clock: FakeClock = clock or FakeClock()
        self.requests: list[ChatRequest] = []
        """What was asked, in order, as it was sent."""
        self.conversations: list[Conversation] = []
        """What a session was opened for, in order."""

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[_ScriptedSession]:
        self.conversations.append(conversation)
        yield _ScriptedSession(self, conversation)


class _ScriptedSession:
    def __init__(self, system: ScriptedSystem, conversation: Conversation) -> None:
        self._system = system
        self._conversation = conversation
        self._asked = 0
        self._remembered: tuple[Exchange, ...] = ()

    async def ask(self, request: ChatRequest) -> ChatReply:
        system = self._system
        system.requests.append(request)
        if system.history == "server":
            request = replace(request, history=self._remembered)
        answer = self._answer(request)
        if isawaitable(answer):
            answer = await answer
        if system.delay_s:
            await system.clock.sleep(system.delay_s)
        if answer is None:
            await asyncio.get_running_loop().create_future()
        if isinstance(answer, AdapterError):
            raise answer
        reply = answer if isinstance(answer, ChatReply) else ChatReply(text=str(answer))
        self._remembered += (Exchange(question=request.question, answer=reply.text),)
        return reply

    def _answer(self, request: ChatRequest) -> Answer | Awaitable[Answer]:
        answers = self._system.answers
        only = answers[0] if len(answers) == 1 else None
        if isinstance(only, Mapping):
            if request.question not in only:
                raise LookupError(f'the script has no answer to "{request.question}"; add it')
            return only[request.question]
        if callable(only):
            return only(request, self._conversation)
        self._asked += 1
        if self._asked > len(answers):
            raise LookupError(
                f'the script has {len(answers)} answers and was asked "{request.question}" after them; '
                "add one"
            )
        answer: Any = answers[self._asked - 1]
        return answer  # type: ignore[no-any-return]


_FAILURES: Sequence[type[AdapterError]] = (
    AdapterTimeoutError,
    AdapterConnectionError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterCutOffError,
)


def failure(outcome: str, message: str = "as scripted", **facts: Any) -> AdapterError:
    """
    Return the error that becomes *outcome* in a turn's record, for a script to raise.

    Args:
        facts: The error's arguments: ``retryable``, ``reached``, ``retry_after_s``, ``status``; of
            ``cut-off`` also ``partial``, the text that had come.

    Raises:
        ValueError: no failed ask has that outcome.
    """
    if outcome == AdapterCutOffError.outcome:
        facts.setdefault("partial", "")
    for kind in _FAILURES:
        if kind.outcome == outcome:
            return kind(message, **facts)
    known = ", ".join(kind.outcome for kind in _FAILURES)
    raise ValueError(f'"{outcome}" is no outcome of a failed ask (those are: {known})')


class Recorded:
    """A sink in memory; every record is "durable" at once."""

    def __init__(self) -> None:
        self.records: list[TurnRecord] = []

    async def write(self, record: TurnRecord) -> None:
        self.records.append(record)


async def play(
    system: Adapter,
    policy: Policy,
    conversation: Conversation,
    *,
    patience: RetryPolicy | None = None,
    on_failure: OnFailure = "stop",
    records: Sequence[TurnRecord] = (),
    clock: FakeClock | None = None,
    tools: Tools | None = None,
) -> list[TurnRecord]:
    """
    Play *conversation* with *system* under *policy* as a run would, and return the new records.

    Args:
        patience: Deadline and retries; the deadline is in real time.
        records: The turns that were played before, after which it goes on.
        clock: Waits before retries pass on it. The default moves on by a second at each reading.
        tools: The tools that the system may call.

    Raises:
        ResolverError: drift could not be detected.
        RunStoppedError: the system refuses our key, or failed too often in a row.
    """
    sink, clock = Recorded(), clock or FakeClock(step_s=1.0)
    options = PlayOptions(
        patience=patience or RetryPolicy(), on_failure=on_failure, clock=clock, start=0.0, sleep=clock.sleep
    )
    player = Player(sink, options)
    await player.play(
        Play(
            system=System(name="fake", adapter=system, tools=tools),
            policy_name=policy.signature.partition("|")[0],
            policy=policy,
            conversation=conversation,
            records=tuple(records),
        )
    )
    return sink.records
