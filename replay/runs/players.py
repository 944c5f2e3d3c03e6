"""
Who plays a run: this process, several others (``play.workers``), or the nodes of a cluster (``cluster``),
with the same records.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from time import perf_counter, time

from loky import cpu_count

from replay.core.asking.tally import total
from replay.core.logs import tell, tell_again
from replay.core.raw_reply import RawReply
from replay.play.engine import Observer, play_all
from replay.play.loop_lag import LagSummary, worst
from replay.policies.rewriter import opened
from replay.runs.cluster_session import ClusterSession
from replay.runs.kept_answers import cache_problems, keep_cache_problems
from replay.runs.lost_processes import keep_lost, lost_sessions, lost_turn
from replay.runs.play_worker import Ended
from replay.runs.plays_left import left_of, plays_left
from replay.runs.processes.child import Child, Job
from replay.runs.processes.host import Host
from replay.runs.processes.own_process import OwnProcess, check_platform
from replay.runs.processes.plays import Crew, FixedCrew, Group, Loss, play_in_processes
from replay.runs.processes.who_plays import Player, WhoPlays, as_fact
from replay.runs.rerun_plan import Rerun
from replay.runs.unclosed_sessions import keep_unclosed
from replay.runs.versions import with_versions
from replay.scenario.assembly import Assembly
from replay.scenario.sections import Scenario
from replay.scenario.telemetry_section import traces_of
from replay.store.schema import Row, record_row, row_record
from replay.store.store import RunStore

Lags = dict[str, LagSummary]

PLAYERS = "players"
"""The fact of who plays the run, or played it last."""
_WORK = "replay.runs.play_worker"


def playing_processes(scenario: Scenario) -> int:
    """
    How many processes are to play *scenario*; 1 is this one.

    ``auto`` is a core for each process that may run (an affinity and a container's share are respected): for
    those that play and, where ``drift.nlp_workers`` is given, for that many beside each. There is none
    without a conversation to play.
    """
    play, drift = scenario.play, scenario.drift
    if play.workers != "auto":
        return play.workers
    beside = drift.nlp_workers if "nlp_workers" in drift.model_fields_set else 0
    cores: int = cpu_count()
    return max(1, min(cores // (1 + beside), play.concurrency))


async def play_left(
    assembly: Assembly, store: RunStore, rerun: Rerun | None, observer: Observer | None
) -> None:
    """
    Play what *store* has no record of, and what *rerun* still has to ask.

    Raises:
        PluginError, ResolverError, RunStoppedError: as for ``run_async``.
    """
    scenario = assembly.file.scenario
    workers = playing_processes(scenario)
    if workers == 1 and scenario.cluster is None:
        lags = await _play_here(assembly, store, rerun, observer)
    else:
        lags = await _play_elsewhere(workers, assembly, store, rerun, observer)
    store.add_event("loop-lag", lags)


async def _play_here(
    assembly: Assembly, store: RunStore, rerun: Rerun | None, observer: Observer | None
) -> Lags:
    settings = assembly.file.scenario.play
    async with assembly.service, opened(assembly.policies.values()):
        lags = await play_all(
            with_versions(plays_left(assembly, store, rerun), assembly, store),
            systems=assembly.systems,
            patience=assembly.patience,
            sink=rerun or store,
            concurrency=settings.concurrency,
            on_failure=settings.on_failure,
            observer=observer,
            keep_raw=partial(store.add_raw, most_bytes=settings.raw_limit_bytes),
            keep_step=store.write_step,
            unclosed=partial(keep_unclosed, store.add_event),
            started_at=time(),
            traces=traces_of(assembly.file.scenario, store.needed("id")),
        )
    keep_cache_problems(store, cache_problems(assembly.systems))
    return lags


async def _play_elsewhere(
    workers: int, assembly: Assembly, store: RunStore, rerun: Rerun | None, observer: Observer | None
) -> Lags:
    file = assembly.file
    who = WhoPlays()
    host = _Host(assembly, store, rerun, observer, who)
    job = partial(Job.of, file, run=store.needed("id"), start=perf_counter(), started_at=time())
    session = await ClusterSession.begin(assembly, store, rerun)
    loop = asyncio.get_running_loop()
    cluster = file.scenario.cluster
    sets_aside = cluster is not None and cluster.lost_sessions == "set-aside" and rerun is None

    def lost(loss: Loss) -> Group:
        loop.call_soon_threadsafe(host.take_back, loss.child.job.worker)
        store.settle()
        sessions = lost_sessions(loss, store, file.scenario.play.on_failure)
        aside = [record_row(lost_turn(play, loss.child.name)) for play in sessions] if sets_aside else []
        if aside:
            asyncio.run_coroutine_threadsafe(host.keep_rows(aside, set()), loop).result()
        keep_lost(store, loss, restarted=len(sessions) - len(aside), aside=len(aside))
        tell(logging.WARNING, "process lost", who=loss.child.name, why=loss.why, unfinished=len(loss.plays))
        return left_of(loss.plays, assembly, store)

    ends: list[Ended] = []
    try:
        async with (
            _crew(assembly, workers, job, host, session) as crew,
            who.shown(partial(_show_players, store, observer)),
        ):
            await play_in_processes(
                with_versions(plays_left(assembly, store, rerun), assembly, store),
                crew,
                concurrency=file.scenario.play.concurrency,
                who=who,
                played=observer.played if observer else lambda play: None,
                lost=lost,
                ended=ends.append,
            )
    finally:
        if assembly.service.asked is not None:
            assembly.service.asked.tally = total(end.asked for end in ends if end.asked is not None)
    keep_cache_problems(store, set().union(*(end.cache_problems for end in ends)))
    systems = sorted({system for end in ends for system in end.lags})
    found = {one: worst(end.lags[one] for end in ends if one in end.lags) for one in systems}
    return {system: lag for system, lag in found.items() if lag is not None}


@asynccontextmanager
async def _crew(
    assembly: Assembly, workers: int, job: Callable[..., Job], host: _Host, session: ClusterSession | None
) -> AsyncIterator[Crew]:
    """Who plays *assembly*, for as long as the block lasts; *job* is to be given a worker's number."""
    if session is not None:
        from replay.runs.cluster.crew import cluster_crew

        most = assembly.file.scenario.play.concurrency
        async with cluster_crew(assembly, _WORK, session.job(job), host, most=most) as crew:
            await session.take_left(crew, host.keep_rows)
            yield crew
            await session.end(crew)
        return
    check_platform("play.workers")
    yield FixedCrew(
        [
            Child(
                OwnProcess(_WORK, workers=workers),
                job(worker=number, workers=workers),
                host,
                gone=f"process {number + 1} of {workers} ended before it was done (killed, or out of "
                "memory?)",
            )
            for number in range(workers)
        ]
    )


def _show_players(store: RunStore, observer: Observer | None, players: Sequence[Player]) -> None:
    """Who plays, to whoever looks at the run, and to an *observer* that listens."""
    store.set_fact(PLAYERS, as_fact(players))
    if shows := getattr(observer, "players", None):
        shows(players)


class _Host(Host):
    """What the processes that play may call."""

    def __init__(
        self,
        assembly: Assembly,
        store: RunStore,
        rerun: Rerun | None,
        observer: Observer | None,
        who: WhoPlays,
    ) -> None:
        super().__init__(assembly.limits, assembly.patience)
        self._store = store
        self._rerun = rerun
        self._observer = observer
        self._who = who
        self._raw_limit_bytes = assembly.file.scenario.play.raw_limit_bytes
        self.keep_step = store.write_step
        self.add_event = store.add_event
        self.log = tell_again

    async def keep_rows(self, rows: list[Row], answered: set[str]) -> None:
        """Return when *rows* are durable; *answered* are the systems that answered since the last call."""
        self.note_answers(answered)
        if self._rerun:
            await asyncio.gather(*(self._rerun.write(row_record(row)) for row in rows))
        else:
            await self._store.write_rows(rows)
        self._who.recorded(rows)
        if self._observer:
            for row in rows:
                self._observer.recorded(row_record(row))

    def keep_raw(self, reply: RawReply) -> None:
        self._store.add_raw(reply, most_bytes=self._raw_limit_bytes)
