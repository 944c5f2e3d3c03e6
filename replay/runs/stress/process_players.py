"""
A load run on several processes, or on the nodes of a cluster, each with its own event loop and its share of
the load.

Their records are written here, by the run's one writer. None ever waits for another one, save at a politeness
limit and where an ask failed: who comes when follows from the scenario and the seed
(``replay.runs.stress.planned_sessions``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Protocol, Self

from replay.core.errors import ReplayError
from replay.core.logs import tell_again
from replay.play.first_failure import side_by_side
from replay.play.load.level import Level, LevelOutcome, together
from replay.runs.processes.child import Child, Job
from replay.runs.processes.host import Host
from replay.runs.processes.line import END, LineClosedError, packed
from replay.runs.processes.own_process import OwnProcess, check_platform
from replay.runs.processes.plays import FixedCrew
from replay.runs.stress.counting import Count, Counts, Tally, TallyKey
from replay.runs.stress.generators import Generator
from replay.runs.stress.inputs import LoadInputs
from replay.runs.stress.sent_inputs import slices
from replay.scenario.assembly import Assembly
from replay.store.schema import Row
from replay.store.store import RunStore

_WORK = "replay.runs.stress.level_worker"
BEFORE_PROCESSES_S = 0.25
BEFORE_NODES_S = 1.0
"""Between sending a level and its beginning, so that all begin at once."""


class LevelCrew(Protocol):
    """Who offers the load."""

    async def all_now(self) -> list[Child]:
        """Those there are, once there is one; not started yet."""
        ...

    async def shared(self, messages: list[bytes]) -> Any:
        """*messages* as each of them can be sent them, at the cost of sending them once."""
        ...


class ProcessLevelPlayer:
    """Plays in ``load.workers`` other processes, or on the nodes of ``cluster``."""

    def __init__(self, inputs: LoadInputs, store: RunStore, *, start: float, started_at: float) -> None:
        """When the run started: *start* by ``perf_counter``, *started_at* by ``time``."""
        file, run = inputs.assembly.file, store.needed("id")
        self.counts: Counts = Counts()
        self._inputs = inputs
        self._scenario = file.scenario
        self._host = _Host(inputs.assembly, store, self.counts)
        self._job = partial(Job.of, file, run=run, start=start, started_at=started_at)
        self._generators: list[Generator] = []

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        """Around the run: all are there, know what is to be played, and are ready."""
        async with self._crew() as crew:
            children = await crew.all_now()
            try:
                await side_by_side(child.start() for child in children)
                await self._send_inputs(children, crew)
                self._generators = list(map(Generator, children))
                yield self
                await side_by_side(child.end() for child in children)
            finally:
                await side_by_side(child.close() for child in children)

    @asynccontextmanager
    async def _crew(self) -> AsyncIterator[LevelCrew]:
        load, assembly = self._inputs.load, self._inputs.assembly
        if self._scenario.cluster is not None:
            from replay.runs.cluster.crew import cluster_crew

            most = load.most_generators
            async with cluster_crew(assembly, _WORK, self._job, self._host, most=most) as crew:
                yield crew
            return
        check_platform("load.workers")
        yield FixedCrew([self._process(number, load.workers) for number in range(load.workers)])

    def _process(self, number: int, count: int) -> Child:
        return Child(
            OwnProcess(_WORK, workers=count),
            self._job(worker=number, workers=count),
            self._host,
            gone=f"worker {number + 1} of the load ended before it was done (killed, or out of memory?)",
        )

    async def _send_inputs(self, children: list[Child], crew: LevelCrew) -> None:
        for method, content in slices(self._inputs):
            messages = await crew.shared([packed(method, content)])
            for child in children:
                child.pass_on(messages)
            await side_by_side(child.call("taken") for child in children)
        count = len(children)
        await side_by_side(child.call("take_share", number, count) for number, child in enumerate(children))
        await side_by_side(child.call(END) for child in children)

    async def prepare(self) -> float:
        """As ``LocalLevelPlayer.prepare``; clocks of other machines are looked at."""
        with _all_is_kept():
            await side_by_side(one.look_at_clock() for one in self._generators)
        return BEFORE_PROCESSES_S if self._scenario.cluster is None else BEFORE_NODES_S

    async def play(self, level: Level) -> LevelOutcome:
        """As ``LocalLevelPlayer.play``."""
        try:
            with _all_is_kept():
                return together(await side_by_side(one.play(level) for one in self._generators))
        except BaseException:
            # What was answered until now is still to be stored.
            await side_by_side(one.child.end() for one in self._generators)
            raise


@contextmanager
def _all_is_kept() -> Iterator[None]:
    """Around what ends the run where one is gone."""
    try:
        yield
    except LineClosedError as error:
        raise ReplayError(f"{error}; what was answered until then is kept") from error


class _Host(Host):
    """What they may call."""

    def __init__(self, assembly: Assembly, store: RunStore, counts: Counts) -> None:
        super().__init__(assembly.limits, assembly.patience)
        self._store = store
        self._counts = counts
        self.log = tell_again

    def keep_rows(self, rows: list[Row], answered: set[str]) -> asyncio.Future[None]:
        self.note_answers(answered)
        return self._store.write_rows(rows)

    def counted(self, count: Count, tallies: Mapping[TallyKey, Tally]) -> None:
        self._counts.merge(count, tallies)
