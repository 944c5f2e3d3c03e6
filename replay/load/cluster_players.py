"""
A load run on the nodes of a cluster, each actor with its own event loop and its share of the load.

Their records are written here, by the run's one writer. None ever waits for another one, save at a politeness
limit and where an ask failed: who comes when follows from the scenario and the seed
(``replay.load.planned_sessions``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Self

from replay.core.errors import ReplayError
from replay.core.logs import relog
from replay.load.counting import Count, Counts, Tally, TallyKey
from replay.load.generators import RemoteGenerator
from replay.load.inputs import LoadInputs
from replay.load.sent_inputs import slices
from replay.play.first_failure import gather_or_cancel
from replay.play.load.level import Level, LevelOutcome, together
from replay.scenario.assembly import Assembly
from replay.store.schema import Row
from replay.store.store import RunStore
from replay.workers.cluster.actor_pool import ActorPool, open_actor_pool
from replay.workers.cluster.coordinator import Coordinator
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.rpc import END, PeerGoneError, packed
from replay.workers.cluster.worker_handle import WorkerHandle

_WORK = "replay.load.cluster_level_worker"
BEFORE_LEVEL_S = 1.0
"""Between sending a level and its beginning, so that all begin at once."""


class ClusterLevelPlayer:
    """Plays on the nodes of ``cluster``."""

    def __init__(self, inputs: LoadInputs, store: RunStore, *, start: float, started_at: float) -> None:
        """When the run started: *start* by ``perf_counter``, *started_at* by ``time``."""
        file, run = inputs.assembly.file, store.needed("id")
        self.counts: Counts = Counts()
        self._inputs = inputs
        self._host = _LoadCoordinator(inputs.assembly, store, self.counts)
        self._job = partial(NodeJob.of, file, run=run, start=start, started_at=started_at)
        self._generators: list[RemoteGenerator] = []

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        """Around the run: all are there, know what is to be played, and are ready."""
        load, assembly = self._inputs.load, self._inputs.assembly
        most = load.most_generators
        async with open_actor_pool(assembly, _WORK, self._job, self._host, most=most) as pool:
            children = await pool.all_now()
            try:
                await gather_or_cancel(child.start() for child in children)
                await self._send_inputs(children, pool)
                self._generators = list(map(RemoteGenerator, children))
                yield self
                await gather_or_cancel(child.end() for child in children)
            finally:
                await gather_or_cancel(child.close() for child in children)

    async def _send_inputs(self, children: list[WorkerHandle], pool: ActorPool) -> None:
        for method, content in slices(self._inputs):
            messages = await pool.shared([packed(method, content)])
            for child in children:
                child.pass_on(messages)
            await gather_or_cancel(child.call("taken") for child in children)
        count = len(children)
        await gather_or_cancel(
            child.call("take_share", number, count) for number, child in enumerate(children)
        )
        await gather_or_cancel(child.call(END) for child in children)

    async def prepare(self) -> float:
        """As ``LocalLevelPlayer.prepare``; clocks of other machines are looked at."""
        with _all_is_kept():
            await gather_or_cancel(one.look_at_clock() for one in self._generators)
        return BEFORE_LEVEL_S

    async def play(self, level: Level) -> LevelOutcome:
        """As ``LocalLevelPlayer.play``."""
        try:
            with _all_is_kept():
                return together(await gather_or_cancel(one.play(level) for one in self._generators))
        except BaseException:
            # What was answered until now is still to be stored.
            await gather_or_cancel(one.child.end() for one in self._generators)
            raise


@contextmanager
def _all_is_kept() -> Iterator[None]:
    """Around what ends the run where one is gone."""
    try:
        yield
    except PeerGoneError as error:
        raise ReplayError(f"{error}; what was answered until then is kept") from error


class _LoadCoordinator(Coordinator):
    """What they may call."""

    def __init__(self, assembly: Assembly, store: RunStore, counts: Counts) -> None:
        super().__init__(assembly.limits, assembly.patience)
        self._store = store
        self._counts = counts
        self.log = relog

    def keep_rows(self, rows: list[Row], answered: set[str]) -> asyncio.Future[None]:
        self.note_answers(answered)
        return self._store.write_rows(rows)

    def counted(self, count: Count, tallies: Mapping[TallyKey, Tally]) -> None:
        self._counts.merge(count, tallies)
