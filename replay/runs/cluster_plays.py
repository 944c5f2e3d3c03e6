"""A run that the nodes of a Ray cluster play, as nodes come and go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter, time

from replay.core.logs import log_event, relog
from replay.core.raw_reply import RawReply
from replay.play.loop_lag import worst
from replay.results.cluster_loss import keep_lost, lost_sessions, lost_turn
from replay.results.play_events import keep_cache_problems
from replay.results.rerun_plan import Rerun
from replay.results.versions import with_versions
from replay.runs.cluster_play_worker import WorkerReport
from replay.runs.cluster_session import ClusterSession
from replay.runs.following import RunListeners
from replay.runs.play_share import Lags
from replay.runs.remaining_plays import left_of, remaining_plays
from replay.scenario.assembly import Assembly
from replay.store.schema import Row, record_row, row_record
from replay.store.store import RunStore
from replay.workers.cluster.actor_pool import open_actor_pool
from replay.workers.cluster.coordinator import Coordinator
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.work_queue import Group, LostWorker, play_in_processes
from replay.workers.status import WorkerProgress, WorkerStatus

_WORK = "replay.runs.cluster_play_worker"


async def play_on_cluster(
    assembly: Assembly,
    store: RunStore,
    rerun: Rerun | None,
    following: RunListeners,
    show: Callable[[Sequence[WorkerProgress]], None],
) -> Lags:
    """
    Play what *store* has no record of, and what *rerun* still has to ask; *following* and *show* are told.

    Raises:
        InputError: the cluster can't be reached.
        RunStoppedError: no node is left, or a system refuses our key or failed too often in a row.
        ReplayError: the run could not go on; what was answered until then is in the store.
    """
    file = assembly.file
    who = WorkerStatus()
    host = _RunCoordinator(assembly, store, rerun, following, who)
    job = partial(NodeJob.of, file, run=store.needed("id"), start=perf_counter(), started_at=time())
    cluster = file.scenario.cluster
    assert cluster is not None
    session = await ClusterSession.begin(cluster, store, rerun)
    loop = asyncio.get_running_loop()
    sets_aside = cluster.lost_sessions == "abandon" and rerun is None
    most = file.scenario.play.concurrency

    def lost(loss: LostWorker) -> Group:
        loop.call_soon_threadsafe(host.take_back, loss.child.job.worker)
        store.settle()
        sessions = lost_sessions(loss, store, file.scenario.play.on_failure)
        aside = [record_row(lost_turn(play, loss.child.name)) for play in sessions] if sets_aside else []
        if aside:
            asyncio.run_coroutine_threadsafe(host.keep_rows(aside, set()), loop).result()
        keep_lost(store, loss, restarted=len(sessions) - len(aside), aside=len(aside))
        log_event(
            logging.WARNING, "process lost", who=loss.child.name, why=loss.why, unfinished=len(loss.plays)
        )
        return left_of(loss.plays, assembly, store)

    ends: list[WorkerReport] = []
    try:
        async with (
            open_actor_pool(assembly, _WORK, session.job(job), host, most=most) as pool,
            who.shown(show),
        ):
            await session.take_left(pool, host.keep_rows)
            await play_in_processes(
                with_versions(remaining_plays(assembly, store, rerun), assembly, store),
                pool,
                concurrency=most,
                who=who,
                played=following.played,
                lost=lost,
                ended=ends.append,
            )
            await session.end(pool)
    finally:
        if assembly.service.asked is not None:
            for end in ends:
                if end.asked is not None:
                    assembly.service.asked.tally.add(end.asked)
    keep_cache_problems(store, set().union(*(end.cache_problems for end in ends)))
    systems = sorted({system for end in ends for system in end.lags})
    found = {one: worst(end.lags[one] for end in ends if one in end.lags) for one in systems}
    return {system: lag for system, lag in found.items() if lag is not None}


class _RunCoordinator(Coordinator):
    """What the processes that play may call."""

    def __init__(
        self,
        assembly: Assembly,
        store: RunStore,
        rerun: Rerun | None,
        observer: RunListeners,
        who: WorkerStatus,
    ) -> None:
        super().__init__(assembly.limits, assembly.patience)
        self._store = store
        self._rerun = rerun
        self._observer = observer
        self._who = who
        self._raw_limit_bytes = assembly.file.scenario.play.raw_limit_bytes
        self.keep_step = store.write_step
        self.add_event = store.add_event
        self.log = relog

    async def keep_rows(self, rows: list[Row], answered: set[str]) -> None:
        """Return when *rows* are durable; *answered* are the systems that answered since the last call."""
        self.note_answers(answered)
        if self._rerun:
            await asyncio.gather(*(self._rerun.write(row_record(row)) for row in rows))
        else:
            await self._store.write_rows(rows)
        self._who.recorded(rows)
        if self._observer.observer:
            for row in rows:
                self._observer.recorded(row_record(row))

    def keep_raw(self, reply: RawReply) -> None:
        self._store.add_raw(reply, most_bytes=self._raw_limit_bytes)
