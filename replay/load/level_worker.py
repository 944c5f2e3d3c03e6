"""What a worker does that plays its share of a load run (``replay.workers.worker_main``)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from replay.core.lifetimes import in_thread
from replay.core.safety.consent import code_may_run
from replay.load.counting import Count, Counts, Tally, TallyKey
from replay.load.inputs import stored_inputs
from replay.load.level_players import LocalLevelPlayer
from replay.play.load.level import Level
from replay.play.player import system_breaker
from replay.scenario.assembly import assemble
from replay.store.store import RunStore
from replay.workers.failure_counts import SharedFailureCounts
from replay.workers.job import WorkerJob, keep_share
from replay.workers.process import WorkerResult
from replay.workers.worker_main import Parent

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
        async with players.opened() as player, asyncio.TaskGroup() as tasks:
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
