"""
A load run on several processes of this machine (``load.workers``), each with its own event loop and its share
of every level.

They write their records into the run's database themselves. None ever waits for another one: who comes when
follows from the scenario and the seed (``replay.load.inputs``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Self

from replay.core.errors import ReplayError
from replay.load.counting import Counts
from replay.load.inputs import LoadInputs
from replay.load.level_worker import CountReport
from replay.play.event_loop import gather_or_cancel
from replay.play.load.level import Level, LevelOutcome, together
from replay.store.store import RunStore
from replay.workers.job import WorkerJob
from replay.workers.process import WorkerGoneError, WorkerProcess, check_platform, shared_memory

BEFORE_LEVEL_S = 0.25
"""Between sending a level and its beginning, so that all begin at once."""
_WORK = "replay.load.level_worker"


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
            run=store.needed("id"),
            start=start,
            started_at=started_at,
            workers=workers,
            limits_among=workers,
        )
        self._workers: list[WorkerProcess] = []

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
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
            _WORK,
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
