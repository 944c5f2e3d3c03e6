"""
A load run on several processes, each with its own event loop and its share of the load.

Their records are written here, by the run's one writer. An asking process never waits for another one, save
at a politeness limit and where an ask failed: who comes when follows from the scenario and the seed
(``replay.runs.stress.planned_sessions``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Self

from replay.play.first_failure import side_by_side
from replay.play.load.level import Level, LevelOutcome, together
from replay.play.load.section import LoadSection
from replay.runs.processes.child import Child, Job
from replay.runs.processes.host import Host
from replay.runs.processes.own_process import OwnProcess, check_platform
from replay.runs.stress.counting import Count, Counts, Tally, TallyKey
from replay.scenario.assembly import Assembly
from replay.store.schema import Row
from replay.store.store import RunStore


class ProcessLevelPlayer:
    """Plays in ``load.workers`` other processes."""

    def __init__(
        self, assembly: Assembly, load: LoadSection, store: RunStore, *, start: float, started_at: float
    ) -> None:
        """When the run started: *start* by ``perf_counter``, *started_at* by ``time``."""
        self.counts: Counts = Counts()
        host = _Host(assembly, store, self.counts)
        when = {"run": store.needed("id"), "start": start, "started_at": started_at}
        self._workers = [
            Child(
                OwnProcess("replay.runs.stress.level_worker", workers=load.workers),
                Job.of(assembly.file, worker=number, workers=load.workers, **when),
                host,
                gone=f"worker {number + 1} of the load ended before it was done; what was answered "
                "until then is kept (was it killed, or out of memory?)",
            )
            for number in range(load.workers)
        ]

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        """Around the run: the processes are there, and ready."""
        check_platform("load.workers")
        try:
            await side_by_side(worker.start() for worker in self._workers)
            yield self
        finally:
            await side_by_side(worker.close() for worker in self._workers)

    async def play(self, level: Level) -> LevelOutcome:
        """As ``LocalLevelPlayer.play``."""
        try:
            return together(await side_by_side(worker.call("play", level) for worker in self._workers))
        except BaseException:
            # What was answered until now is still to be stored.
            await side_by_side(worker.end() for worker in self._workers)
            raise


class _Host(Host):
    """What the processes may call."""

    def __init__(self, assembly: Assembly, store: RunStore, counts: Counts) -> None:
        super().__init__(assembly.limits, assembly.patience)
        self._store = store
        self._counts = counts

    def keep_rows(self, rows: list[Row], answered: set[str]) -> asyncio.Future[None]:
        self.note_answers(answered)
        return self._store.write_rows(rows)

    def counted(self, count: Count, tallies: Mapping[TallyKey, Tally]) -> None:
        self._counts.merge(count, tallies)
