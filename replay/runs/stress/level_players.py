"""Who plays a level: this process, or several others (``replay.runs.stress.process_players``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from time import perf_counter
from types import TracebackType
from typing import Protocol, Self

from replay.core.conversation import Conversation
from replay.coreference.resolver import Document
from replay.play.engine import opened_systems
from replay.play.gc_pause import quiet_collector
from replay.play.load.generator import play_level
from replay.play.load.level import Level, LevelOutcome, share_of
from replay.play.load.section import LoadSection
from replay.play.load.trace import Arrival
from replay.play.player import Player, RecordSink
from replay.policies.rewriter import opened
from replay.runs.stress.counting import Count, CountingSink, Tally, TallyKey
from replay.runs.stress.planned_sessions import PlannedSessions
from replay.scenario.assembly import Assembly


class LevelPlayer(Protocol):
    """Plays levels; an async context manager around the run."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def play(self, level: Level) -> LevelOutcome:
        """
        Play *level* to its end.

        Raises:
            ReplayError: the run could not go on; what was answered until then is in the sink.
        """
        ...

    def taken_count(self) -> Count:
        """What was counted since the last call."""
        ...

    def taken_tallies(self) -> Mapping[TallyKey, Tally]:
        """The turns of the level that were counted only."""
        ...


class LocalLevelPlayer:
    """Plays in this process."""

    def __init__(
        self,
        assembly: Assembly,
        load: LoadSection,
        conversations: Sequence[Conversation],
        sink: RecordSink,
        *,
        start: float,
        trace: Sequence[Arrival] = (),
        worker: int = 0,
        workers: int = 1,
    ) -> None:
        """*start* is the reading of ``perf_counter`` when the run started; the rest as for sessions."""
        self._assembly = assembly
        self._load = load
        self._start = start
        self._max_open = max(1, share_of(load.max_open, worker, workers))
        self._sink = CountingSink(sink, share_of(load.keep_turns, worker, workers))
        player = Player(assembly.ask_settings, self._sink, clock=perf_counter, start=start)
        self._sessions = PlannedSessions(
            assembly, load, conversations, player.play, trace=trace, worker=worker, workers=workers
        )
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._assembly.service)
            await stack.enter_async_context(opened(self._assembly.policies.values()))
            await stack.enter_async_context(opened_systems(self._assembly.systems))
            await self._load_resolver()
            # Once and here: looking through all objects would make a level's first arrivals late.
            stack.enter_context(quiet_collector())
            self._stack = stack.pop_all()
        return self

    async def _load_resolver(self) -> None:
        """
        Let the resolver be loaded, where a policy asks it.

        It is with its first question, and whoever asks that one would be seconds late.
        """
        service = self._assembly.service
        if any(service.signature in policy.signature for policy in self._assembly.policies.values()):
            await service.read(Document(question="Who was she?"))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def play(self, level: Level) -> LevelOutcome:
        self._sink.level = level.index
        self._sink.window_s = level.window_s
        return await play_level(
            level,
            self._sessions.of(level),
            start=self._start,
            clock=perf_counter,
            after=self._load.think.after,
            max_open=self._max_open,
        )

    def taken_count(self) -> Count:
        return self._sink.taken_count()

    def taken_tallies(self) -> Mapping[TallyKey, Tally]:
        return self._sink.taken_tallies()
