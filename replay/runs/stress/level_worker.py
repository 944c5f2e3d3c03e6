"""What a process does that plays its share of a load run (``replay.runs.processes.child_main``)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from replay.core.settings.code_gate import code_may_run
from replay.play.load.level import Level, LevelOutcome
from replay.runs.processes.child import Job
from replay.runs.processes.parent import Parent
from replay.runs.stress.counting import Tally, TallyKey
from replay.runs.stress.inputs import read_inputs
from replay.runs.stress.level_players import LocalLevelPlayer
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario

COUNTED_EVERY_S = 0.5


async def work(job: Job, parent: Parent) -> None:
    """Play the share of each level that *job* says, as the *parent* calls for it."""
    # Everything the scenario names, built once more.
    with code_may_run():
        assembly = assemble(parse_scenario(job.text, source=job.source, folder=Path(job.folder)))
    parent.lease(assembly.limits, job.worker)
    inputs = read_inputs(assembly, lambda error: None)
    players = LocalLevelPlayer(
        inputs,
        parent,
        start=job.start,
        started_at=job.started_at,
        run=job.run,
        worker=job.worker,
        workers=job.workers,
        breaker=parent,
    )
    async with players.opened() as player, asyncio.TaskGroup() as tasks:
        worker = _LevelWorker(job, parent, player)
        counting = tasks.create_task(worker.keep_counting())
        await parent.serve(worker)
        counting.cancel()
        worker.count(player.counts.take_tallies())


class _LevelWorker:
    def __init__(self, job: Job, parent: Parent, player: LocalLevelPlayer) -> None:
        self._job = job
        self._parent = parent
        self._player = player

    async def play(self, level: Level) -> LevelOutcome:
        """Play this process's share of *level*."""
        outcome = await self._player.play(level.share(self._job.worker, self._job.workers))
        self.count(self._player.counts.take_tallies())
        return outcome

    async def keep_counting(self) -> None:
        while True:
            await asyncio.sleep(COUNTED_EVERY_S)
            self.count({})

    def count(self, tallies: Mapping[TallyKey, Tally]) -> None:
        """Tell the parent what came since the last time; the *tallies* once a level."""
        self._parent.line.tell("counted", self._player.counts.take_count(), tallies)
