"""Plays levels in this process; ``replay.load.worker_players`` has several others do it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import perf_counter
from typing import Self

from replay.core.asking.limits import CircuitBreaker
from replay.core.asking.retries import open_endpoints
from replay.core.errors import AdapterError
from replay.coreference.reading.resolver import Document
from replay.load.counting import CountingSink, Counts
from replay.load.inputs import LoadInputs, PlannedSessions
from replay.play.gc_pause import gc_paused
from replay.play.load.generator import play_level
from replay.play.load.level import Level, LevelOutcome, share_of
from replay.play.loop_lag import InFlightRequests
from replay.play.play import Pacer, Play
from replay.play.player import Player, PlayOptions, RecordSink
from replay.policies.rewrite import opened
from replay.scenario.optional_sections import traces_of


class LocalLevelPlayer:
    """Plays in this process."""

    def __init__(
        self,
        inputs: LoadInputs,
        sink: RecordSink,
        *,
        start: float,
        started_at: float,
        run: str,
        worker: int = 0,
        workers: int = 1,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """
        *start* is the reading of ``perf_counter`` when the run started, *started_at* that of ``time``, *run*
        its id, *breaker* that of all who play, if there are others; the rest as for sessions.
        """
        load = inputs.load
        self._assembly = inputs.assembly
        self._after = load.think.after
        self._max_open = max(1, share_of(load.max_open, worker, workers))
        self._sink = CountingSink(sink, share_of(load.keep_turns, worker, workers))
        self._asks = InFlightRequests()
        options = PlayOptions(
            patience=self._assembly.patience,
            on_failure=self._assembly.file.scenario.play.on_failure,
            start=start,
            started_at=started_at,
            unclosed=self._count_unclosed,
            traces=traces_of(self._assembly.file.scenario, run),
            breaker=breaker,
        )
        self._unclosed, self._first_unclosed = 0, ""
        self._player = Player(self._sink, options, asks=self._asks)
        self._worker = worker
        self._sessions = PlannedSessions(inputs, self._play, worker=worker, workers=workers)
        self.counts: Counts = self._sink.counts

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        """Open everything that is played with, for the time of the run."""
        assembly = self._assembly
        async with assembly.service, opened(assembly.policies.values()), open_endpoints(assembly.systems):
            await self._load_resolver()
            # Once and here: looking through all objects would make a level's first arrivals late.
            with gc_paused():
                yield self

    async def _load_resolver(self) -> None:
        """
        Let the resolver be loaded, where a policy asks it.

        It is with its first question, and whoever asks that one would be seconds late.
        """
        service = self._assembly.service
        if any(service.signature in policy.signature for policy in self._assembly.asking.values()):
            await service.read(Document(question="Who was she?"))

    async def prepare(self) -> float:
        """Prepare the next level; return how many seconds before its beginning it has to be given."""
        return 0.0

    def set_start(self, start: float) -> None:
        """Set the reading of ``perf_counter`` at the run's start, as known now; called between levels."""
        self._player.start = start

    async def play(self, level: Level) -> LevelOutcome:
        """
        Play *level* to its end.

        Raises:
            ReplayError: the run could not go on; what was answered until then is in the sink.
        """
        self._sink.level = level.index
        self._sink.window_s = level.window_s
        self._unclosed, self._first_unclosed = 0, ""
        outcome = await play_level(
            level,
            self._sessions.of(level),
            start=self._player.start,
            clock=perf_counter,
            after=self._after,
            max_open=self._max_open,
            asks=self._asks,
        )
        (generator,) = outcome.generators
        lateness = self._sink.lateness.take(first_turns=not outcome.delayed)
        return replace(
            outcome,
            generators=(replace(generator, number=self._worker, lateness=lateness),),
            unclosed=self._unclosed,
            first_unclosed=self._first_unclosed,
        )

    async def _play(self, play: Play, pacer: Pacer) -> None:
        self.counts.count.begun += 1
        try:
            await self._player.play(play, pacer)
        finally:
            self.counts.count.ended += 1
            self._sink.lateness.forget(play.conversation.id, play.system.name, play.policy_name)

    def _count_unclosed(self, play: Play, error: AdapterError) -> None:
        self._unclosed += 1
        self._first_unclosed = self._first_unclosed or f"{play.system.name}: {error}"
