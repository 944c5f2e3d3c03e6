"""
Who plays the levels of a load run: this process, or several others of this machine (``load.workers``), each
with its own event loop and its share of every level.

The others write their records into the run's database themselves. None ever waits for another one: who comes
when follows from the scenario and the seed (``replay.load.inputs``). What each does is ``work``
(``replay.workers.worker_main``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, Self

from replay.core.asking.limits import CircuitBreaker
from replay.core.asking.retries import open_endpoints
from replay.core.errors import AdapterError, ReplayError
from replay.core.lifetimes import in_thread
from replay.core.safety.consent import code_may_run
from replay.coreference.reading.resolver import Document
from replay.load.counting import Count, CountingSink, Counts, Tally, TallyKey
from replay.load.inputs import LoadInputs, PlannedSessions, stored_inputs
from replay.play.event_loop import InFlightRequests, gather_or_cancel
from replay.play.gc_pause import gc_paused
from replay.play.load.generator import play_level
from replay.play.load.level import Level, LevelOutcome, share_of, together
from replay.play.play import Pacer, Play
from replay.play.player import Player, PlayOptions, RecordSink, system_breaker
from replay.policies.rewrite import open_policies
from replay.scenario.assembly import assemble
from replay.scenario.sections import traces_of
from replay.store.store import RunStore
from replay.workers.job import WorkerJob, keep_share
from replay.workers.process import (
    SharedFailureCounts,
    WorkerGoneError,
    WorkerProcess,
    WorkerResult,
    check_platform,
    shared_memory,
)
from replay.workers.worker_main import Parent


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
    async def open(self) -> AsyncIterator[Self]:
        """Open everything that is played with, for the time of the run."""
        assembly = self._assembly
        async with (
            assembly.service,
            open_policies(assembly.policies.values()),
            open_endpoints(assembly.systems),
        ):
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


COUNTED_EVERY_S = 0.5


class CountReport(NamedTuple):
    """The message of what was counted since the last one."""

    turns: Count
    tallies: Mapping[TallyKey, Tally]


async def work(job: WorkerJob, parent: Parent) -> None:
    """
    Play the share of *job* of each level that *parent* sends, until it sends no more.

    Each is answered with its ``LevelOutcome``, once all its turns are in the run's database.

    Raises:
        ReplayError: the run could not go on; what was answered until then is in its database.
    """
    with code_may_run():
        assembly = assemble(job.scenario(), data_is_read=True)
    for limit in assembly.limits.values():
        keep_share(limit, job.worker, job.limits_among)
    durability = assembly.file.scenario.play.durability
    store = RunStore(Path(job.run_folder), write=True, durability=durability, worker=job.worker)
    try:
        counts = SharedFailureCounts(parent.memory, [system.name for system in assembly.systems])
        players = LocalLevelPlayer(
            await in_thread(stored_inputs, assembly, store),
            store,
            start=job.start,
            started_at=job.started_at,
            run=job.run,
            worker=job.worker,
            workers=job.workers,
            breaker=system_breaker(assembly.patience, counts),
        )
        async with players.open() as player, asyncio.TaskGroup() as tasks:
            counting = tasks.create_task(_keep_counting(parent, player.counts))
            try:
                parent.send(WorkerResult(None))
                await _play_levels(job, parent, player)
            finally:
                counting.cancel()
                parent.send(CountReport(player.counts.take_count(), player.counts.take_tallies()))
    finally:
        await in_thread(store.close)


async def _play_levels(job: WorkerJob, parent: Parent, player: LocalLevelPlayer) -> None:
    level: Level | None
    while (level := await parent.receive()) is not None:
        outcome = await player.play(level.share(job.worker, job.workers))
        parent.send(CountReport(player.counts.take_count(), player.counts.take_tallies()))
        parent.send(WorkerResult(outcome))


async def _keep_counting(parent: Parent, counts: Counts) -> None:
    while True:
        await asyncio.sleep(COUNTED_EVERY_S)
        parent.send(CountReport(counts.take_count(), {}))


BEFORE_LEVEL_S = 0.25
"""Between sending a level and its beginning, so that all begin at once."""


class WorkerLevelPlayer:
    """Plays in so many *workers*."""

    def __init__(
        self, inputs: LoadInputs, store: RunStore, *, workers: int, start: float, started_at: float
    ) -> None:
        """
        Prepare the job of *workers* processes.

        *start* is the run's start by ``perf_counter``, *started_at* by ``time``, both in seconds.
        """
        self.counts: Counts = Counts()
        self._store = store
        self._systems = len(inputs.assembly.systems)
        self._size = workers
        self._job = partial(
            WorkerJob.of,
            inputs.assembly.file,
            run_folder=str(store.folder.resolve()),
            run=store.required_fact("id"),
            start=start,
            started_at=started_at,
            workers=workers,
            limits_among=workers,
        )
        self._workers: list[WorkerProcess] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        """Start the processes for the time of the run; they know their job and are ready."""
        check_platform("load.workers")
        await self._store.flush()  # they read the conversations there
        with shared_memory(self._systems) as memory:
            self._workers = [self._worker(number, memory.fileno()) for number in range(self._size)]
            try:
                with _all_is_kept():
                    await gather_or_cancel(map(_ready, self._workers))
                yield self
                await gather_or_cancel(worker.finish() for worker in self._workers)
            finally:
                await self._close()

    def _worker(self, number: int, memory: int) -> WorkerProcess:
        return WorkerProcess(
            __name__,
            self._job(worker=number),
            workers=self._size,
            memory=memory,
            lock=self._store.lock,
            gone=f"worker {number + 1} of the load ended before it was done (killed, or out of memory?)",
            told=self._count,
        )

    async def _close(self) -> None:
        await gather_or_cancel(worker.close() for worker in self._workers)

    def _count(self, counted: CountReport) -> None:
        self.counts.merge(*counted)

    async def prepare(self) -> float:
        """Return how long before its beginning a level has to be given, in seconds."""
        return BEFORE_LEVEL_S

    async def play(self, level: Level) -> LevelOutcome:
        """
        Play *level* to its end.

        Raises:
            ReplayError: the run could not go on; what was answered until then is in its database.
        """
        try:
            with _all_is_kept():
                return together(await gather_or_cancel(_play(worker, level) for worker in self._workers))
        except BaseException:
            await self._close()  # what they have counted until now is told when they end
            raise


async def _ready(worker: WorkerProcess) -> None:
    await worker.start()
    await worker.result()


async def _play(worker: WorkerProcess, level: Level) -> LevelOutcome:
    await worker.send(level)
    outcome: LevelOutcome = await worker.result()
    return outcome


@contextmanager
def _all_is_kept() -> Iterator[None]:
    """Around what ends the run where one is gone."""
    try:
        yield
    except WorkerGoneError as error:
        raise ReplayError(f"{error}; what was answered until then is kept") from error
