"""
A load run on the nodes of a cluster, each actor with its own event loop and its share of the load.

Their records are written by this program; ``open_work`` is what an actor does. None ever waits for another
one: who comes when follows from the scenario and the seed (``replay.load.inputs``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Self

from replay.core.asking.limits import RateLimit
from replay.core.conversation import Conversation
from replay.core.errors import ReplayError
from replay.core.lifetimes import cancel_and_wait, in_thread
from replay.core.load_record import ClockOffset
from replay.core.safety.consent import code_may_run
from replay.load.counting import Counts
from replay.load.inputs import LoadInputs
from replay.load.level_players import COUNTED_EVERY_S, CountReport, LocalLevelPlayer
from replay.play.event_loop import first_failure, gather_or_cancel
from replay.play.load.arrivals import Arrival
from replay.play.load.level import Level, LevelOutcome, together
from replay.scenario.assembly import Assembly, assemble
from replay.store.schema import Row, to_json
from replay.store.store import RunStore
from replay.workers.cluster.actor import Inputs, Outbox
from replay.workers.cluster.actor_pool import ActorHandle, ActorLostError, open_actor_pool
from replay.workers.cluster.coordinator import RecordReceiver
from replay.workers.job import WorkerJob, workers_within_limits

_WORK = __name__
"""Where actors find ``open_work``."""
BEFORE_LEVEL_S = 1.0
"""Between sending a level and its beginning, so that all begin at once."""
CONVERSATIONS = 1_000
ARRIVALS = 10_000
"""In a slice."""


class ClusterLevelPlayer:
    """Plays on the nodes of ``cluster``."""

    def __init__(self, inputs: LoadInputs, store: RunStore, *, start: float, started_at: float) -> None:
        """Note when the run started: *start* by ``perf_counter``, *started_at* by ``time``."""
        self.counts: Counts = Counts()
        self._inputs = inputs
        self._store = store
        self._job = WorkerJob.of(
            inputs.assembly.file, run=store.required_fact("id"), start=start, started_at=started_at
        )
        self._receiver = RecordReceiver(inputs.assembly, store, self._keep_rows, self._count)
        self._generators: list[RemoteGenerator] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        """Stay around the run: all are there, know what is to be played, and are ready."""
        load, assembly = self._inputs.load, self._inputs.assembly
        most = workers_within_limits(load.most_generators, assembly.limits.values())
        async with open_actor_pool(assembly, most=most, plays=1) as pool:
            actors = await pool.all_now()
            with _all_is_kept(), first_failure():
                for slice_of_inputs in _slices(self._inputs):
                    reference = await in_thread(_put, slice_of_inputs)
                    await gather_or_cancel(actor.call("add_inputs", *reference) for actor in actors)
                over = asyncio.Event()
                async with asyncio.TaskGroup() as tasks:
                    for number, actor in enumerate(actors):
                        job = replace(self._job, worker=number, workers=len(actors))
                        generator = RemoteGenerator(actor, job)
                        self._generators.append(generator)
                        work = actor.working(_WORK, job, pool.files, self._receiver.receive)
                        tasks.create_task(generator.keep_working(work, over))
                    await gather_or_cancel(generator.is_ready.wait() for generator in self._generators)
                    yield self
                    over.set()

    async def prepare(self) -> float:
        """Look at the clocks of other machines; return how long before its beginning a level is given."""
        with _all_is_kept():
            await gather_or_cancel(one.look_at_clock() for one in self._generators)
        return BEFORE_LEVEL_S

    async def play(self, level: Level) -> LevelOutcome:
        """
        Play *level* to its end.

        Raises:
            ReplayError: the run could not go on; what was answered until then is in its database.
        """
        try:
            with _all_is_kept():
                played = await gather_or_cancel(one.play(level) for one in self._generators)
        except BaseException:
            # What was answered and counted until now is still to be kept.
            await gather_or_cancel(one.actor.end() for one in self._generators)
            for failure in filter(None, (one.failure for one in self._generators)):
                with _all_is_kept():
                    raise failure from None  # rather than the cancellation that it brought
            raise
        for _, counted in played:
            self._count(counted)
        return together([outcome for outcome, _ in played])

    async def _keep_rows(self, actor: ActorHandle, rows: list[Row]) -> None:
        await self._store.write_rows(rows)

    def _count(self, counted: CountReport) -> None:
        self.counts.merge(*counted)


def _slices(inputs: LoadInputs) -> Iterator[tuple[str, Any, str]]:
    """Yield what *inputs* hold beside the scenario for ``ClusterActor.add_inputs``, never all at once."""
    for at in range(0, len(inputs.conversations), CONVERSATIONS):
        yield "conversations", list[Conversation], to_json(inputs.conversations[at : at + CONVERSATIONS])
    for at in range(0, len(inputs.trace), ARRIVALS):
        yield "trace", list[Arrival], to_json(inputs.trace[at : at + ARRIVALS])


def _put(slice_of_inputs: tuple[str, Any, str]) -> tuple[str, Any, Any]:
    """Put the text into Ray's object store: nodes fetch it from one another."""
    import ray

    name, kind, text = slice_of_inputs
    return name, kind, ray.put(text)


class RemoteGenerator:
    """
    An actor that offers load, and its machine's clock.

    Clocks drift apart, by a second a day or so. They are looked at before each level; within a level nothing
    is corrected, so that its arrivals keep the even course of one clock.
    """

    def __init__(self, actor: ActorHandle, job: WorkerJob) -> None:
        """*job* is by this program's clock."""
        self.actor = actor
        self.is_ready: asyncio.Event = asyncio.Event()
        self.failure: Exception | None = None
        """It could not go on."""
        self._job = job
        self._clock: ClockOffset = actor.clock
        self._moved_s: float | None = None
        """How much further ahead it was found the last time than before."""

    async def keep_working(self, work: AbstractAsyncContextManager[None], over: asyncio.Event) -> None:
        """
        Have the actor do its *work* until all is *over*.

        Raises:
            ReplayError: the run could not go on.
        """
        try:
            with first_failure():
                async with work:
                    await self.actor.call("set_share", self._job.worker, self._job.workers)
                    self.is_ready.set()
                    await over.wait()
        except Exception as error:
            self.failure = error
            raise

    async def look_at_clock(self) -> None:
        """
        Measure the clock once more; that is taken where it is more exact, or the clock has moved for certain.

        Raises:
            ActorLostError: it is gone.
        """
        measured, known = await self.actor.clock_offset(), self._clock
        self._moved_s = measured.offset_s - known.offset_s
        if measured.uncertainty_s <= known.uncertainty_s or abs(self._moved_s) > (
            measured.uncertainty_s + known.uncertainty_s
        ):
            self._clock = measured

    async def play(self, level: Level) -> tuple[LevelOutcome, CountReport]:
        """
        Play its share of *level*; return what came of that, and what was counted since the last report.

        Raises:
            ActorLostError, ReplayError: it is gone, or could not go on.
        """
        outcome: LevelOutcome
        outcome, counted = await self.actor.call("play", level, self._job.start + self._clock.offset_s)
        reports = (replace(one, clock=self._clock, clock_moved_s=self._moved_s) for one in outcome.generators)
        return replace(outcome, generators=tuple(reports)), counted


@contextmanager
def _all_is_kept() -> Iterator[None]:
    """Around what ends the run where one is gone."""
    try:
        yield
    except ActorLostError as error:
        raise ReplayError(f"{error}; what was answered until then is kept") from error


@asynccontextmanager
async def open_work(job: WorkerJob, outbox: Outbox, inputs: Inputs) -> AsyncIterator[LevelWork]:
    """Play the share of *job* of levels, with *inputs* by their field in ``LoadInputs``."""
    with code_may_run():
        assembly = assemble(job.scenario(), data_is_read=True)
    assert assembly.load is not None
    read: dict[str, Any] = {"conversations": [], "trace": [], **inputs}
    players = LocalLevelPlayer(
        LoadInputs(assembly=assembly, load=assembly.load, **read),
        outbox,
        start=job.start,
        started_at=job.started_at,
        run=job.run,
        worker=job.worker,
        workers=job.workers,
        breaker=outbox,
    )
    async with players.open() as player:
        work = LevelWork(assembly, player, outbox, job)
        counting = asyncio.create_task(work.keep_counting())
        try:
            yield work
        finally:
            await cancel_and_wait(counting)
            outbox.add_count(work.take_counts())


class LevelWork:
    """Plays one level after another."""

    def __init__(self, assembly: Assembly, player: LocalLevelPlayer, outbox: Outbox, job: WorkerJob) -> None:
        self.limits: Mapping[str, RateLimit] = assembly.limits
        self._player = player
        self._outbox = outbox
        self._share = job.worker, job.workers

    async def play(self, level: Level, start: float) -> tuple[LevelOutcome, CountReport]:
        """Play this one's share of *level*; the run's *start* by the clock of this machine."""
        self._player.set_start(start)
        outcome = await self._player.play(level.share(*self._share))
        await self._outbox.flush()
        return outcome, self.take_counts()

    async def keep_counting(self) -> None:
        """Tell now and then what came since the last time; the tallies come once a level."""
        while True:
            await asyncio.sleep(COUNTED_EVERY_S)
            self._outbox.add_count(CountReport(self._player.counts.take_count(), {}))

    def take_counts(self) -> CountReport:
        """Return what came since the last time."""
        return CountReport(self._player.counts.take_count(), self._player.counts.take_tallies())

    def report(self) -> None:
        """Return nothing: all is in the records."""
