"""What an actor does that plays its share of a load run (``replay.workers.cluster.actor``)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from replay.core.asking.limits import RateLimit
from replay.core.safety.code_gate import code_may_run
from replay.core.uncancellable import cancel_and_wait
from replay.load.inputs import LoadInputs
from replay.load.level_players import LocalLevelPlayer
from replay.load.level_worker import COUNTED_EVERY_S, CountReport
from replay.play.load.level import Level, LevelOutcome
from replay.scenario.assembly import Assembly, assemble
from replay.workers.cluster.actor import Inputs, Outbox
from replay.workers.job import WorkerJob


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
    async with players.opened() as player:
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
