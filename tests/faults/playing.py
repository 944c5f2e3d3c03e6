"""Plays conversations against a faulty server as a run does, and tells what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter

from replay.core.adapter import Adapter, ChatReply, ChatRequest, Session
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError
from replay.core.record import TurnRecord
from replay.play.play import Pacer, Play, System
from replay.play.player import Player, PlayOptions
from replay.policies.recorded import GoldPolicy
from tests.samples import Recorded, conversation

NAME = "library desk"
ONE_TURN = conversation(("Who wrote Stone Garden?", "Mira."))
TWO_TURNS = conversation(("Who wrote Stone Garden?", "Mira."), ("When?", "In 1987."))


@dataclass(slots=True, kw_only=True)
class Seen:
    """What a conversation came to."""

    records: list[TurnRecord]
    errors: list[AdapterError] = field(default_factory=list)
    """Of every attempt that failed."""
    pauses_s: list[float] = field(default_factory=list)
    """Before each retry; nobody waits for them."""


class Watched:
    """An adapter whose failures are seen, those before the last attempt too."""

    def __init__(self, adapter: Adapter, errors: list[AdapterError]) -> None:
        self._adapter = adapter
        self._errors = errors
        self.history = adapter.history

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[Session]:
        async with self._adapter.session(conversation) as session:
            yield _WatchedSession(session, self._errors)


class _WatchedSession:
    def __init__(self, session: Session, errors: list[AdapterError]) -> None:
        self._session = session
        self._errors = errors

    async def ask(self, request: ChatRequest) -> ChatReply:
        try:
            return await self._session.ask(request)
        except AdapterError as error:
            self._errors.append(error)
            raise


async def play_against(
    adapter: Adapter,
    settings: RetryPolicy,
    talk: Conversation = ONE_TURN,
    *,
    pace: Pacer | None = None,
) -> Seen:
    """
    What playing *talk* with *adapter* comes to.

    Raises:
        RunStoppedError: the run would have stopped.
    """
    sink = Recorded()
    seen = Seen(records=sink.records)

    async def pause(seconds: float) -> None:
        seen.pauses_s.append(seconds)

    start = perf_counter()
    player = Player(sink, PlayOptions(patience=settings, start=start, sleep=pause))
    system = System(name=NAME, adapter=Watched(adapter, seen.errors))
    opened: AbstractAsyncContextManager[object] = adapter  # type: ignore[assignment]
    async with opened:
        play = Play(system=system, policy_name="gold", policy=GoldPolicy(), conversation=talk)
        await player.play(play, pace)
    return seen
