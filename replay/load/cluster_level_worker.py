"""What a process or an actor does that plays its share of a load run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from replay.core.safety.code_gate import code_may_run
from replay.load.counting import Tally, TallyKey
from replay.load.level_players import LocalLevelPlayer
from replay.load.sent_inputs import SentInputs
from replay.play.load.level import Level, LevelOutcome
from replay.scenario.assembly import assemble
from replay.workers.cluster.coordinator_client import CoordinatorClient
from replay.workers.cluster.job import NodeJob

COUNTED_EVERY_S = 0.5


async def work(job: NodeJob, parent: CoordinatorClient) -> None:
    """Take what there is to play until the *parent* ends that, then play a share of each level."""
    with code_may_run():
        assembly = assemble(job.scenario(), data_is_read=True)
    parent.lease(assembly.limits, job.worker)
    sent = SentInputs()
    await parent.serve(sent)
    if parent.awaited is None:  # it is gone
        return
    number, generators = sent.share
    players = LocalLevelPlayer(
        sent.of(assembly),
        parent,
        start=job.start,
        started_at=job.started_at,
        run=job.run,
        worker=number,
        workers=generators,
        breaker=parent,
    )
    async with players.opened() as player, asyncio.TaskGroup() as tasks:
        worker = _LevelWorker(parent, player, number, generators)
        counting = tasks.create_task(worker.keep_counting())
        await parent.serve(worker)
        counting.cancel()
        worker.count(player.counts.take_tallies())


class _LevelWorker:
    def __init__(
        self, parent: CoordinatorClient, player: LocalLevelPlayer, number: int, generators: int
    ) -> None:
        self._parent = parent
        self._player = player
        self._share = number, generators

    async def play(self, level: Level, start: float) -> LevelOutcome:
        """Play this one's share of *level*; the run's *start* by the clock of this machine."""
        self._player.set_start(start)
        outcome = await self._player.play(level.share(*self._share))
        self.count(self._player.counts.take_tallies())
        return outcome

    async def keep_counting(self) -> None:
        while True:
            await asyncio.sleep(COUNTED_EVERY_S)
            self.count({})

    def count(self, tallies: Mapping[TallyKey, Tally]) -> None:
        """Tell the parent what came since the last time; the *tallies* once a level."""
        self._parent.rpc.notify("counted", self._player.counts.take_count(), tallies)
