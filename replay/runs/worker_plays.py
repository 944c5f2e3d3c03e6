"""
A run that several processes of this machine play (``play.workers``).

Each opens the run's database, plays the conversations at every n-th position in the data, and writes their
turns itself; what is durable there needs no one else. Nobody deals out work: what a lost worker had not
finished is played by another one, which looks in the database what is there. What each does is ``work``
(``replay.workers.worker_main``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter, time

from replay.core.errors import RunStoppedError
from replay.core.lifetimes import in_thread
from replay.core.logs import log_event
from replay.core.record import TurnRecord
from replay.core.safety.consent import code_may_run
from replay.play.event_loop import gather_or_cancel
from replay.play.load.level import share_of
from replay.play.play import Play
from replay.play.player import system_breaker
from replay.results.play_events import keep_lost_worker, keep_tally, keep_version
from replay.results.rerun_plan import Rerun
from replay.runs.following import FinishedPlay, RunListeners, TurnFeed, WorkerProgress, WorkerStatus
from replay.runs.play_share import (
    Lags,
    Part,
    is_unplayed,
    open_parts,
    play_share,
    remaining_plays,
    with_own_resolver,
    worst_lags,
)
from replay.scenario.assembly import Assembly, assemble
from replay.store.store import RunStore
from replay.workers.job import WorkerJob, keep_share, own_share
from replay.workers.process import (
    SharedFailureCounts,
    WorkerGoneError,
    WorkerProcess,
    WorkerResult,
    check_platform,
    shared_memory,
)
from replay.workers.worker_main import Parent

RESTARTS = 3
"""So many workers at most begin in place of those that were lost at one part of the conversations."""


async def play_in_workers(
    workers: int,
    assembly: Assembly,
    store: RunStore,
    rerun: Rerun | None,
    following: RunListeners,
    show: Callable[[Sequence[WorkerProgress]], None],
    *,
    asks_beside: bool,
) -> Lags:
    """
    Play in *workers* processes what *store* has no record of, and what *rerun* still has to ask.

    Args:
        workers: How many at most; none is started that has nothing to play.
        assembly: What is played.
        store: The run.
        rerun: The rerun that is under way.
        following: Is told what happens.
        show: Given who plays, now and then.
        asks_beside: Whether this program asks within the same rate limits.

    Returns:
        How far the workers' event loops lagged behind, by system: the worst of them.

    Raises:
        RunStoppedError: a system refuses our key, failed too often in a row, or workers are lost again and
            again.
        ReplayError: the run could not go on; what was answered until then is in the store.
    """
    check_platform("play.workers")
    parts = await in_thread(open_parts, assembly, store, rerun, workers)
    if not parts:
        return {}
    keep_version(assembly, store)
    is_fresh = is_unplayed(store)
    await store.flush()  # they read what is there
    job = partial(
        WorkerJob.of,
        assembly.file,
        run_folder=str(store.folder.resolve()),
        run=store.required_fact("id"),
        start=perf_counter(),
        started_at=time(),
        workers=len(parts),
        is_fresh=is_fresh,
        limits_among=len(parts) + asks_beside,
    )
    status, numbers = WorkerStatus(), dict[int, int]()
    feed = await in_thread(TurnFeed, assembly, store, status, following, numbers, workers)
    with shared_memory(len(assembly.systems)) as memory:
        waits = max((limit.per_s for limit in assembly.limits.values()), default=0.0)
        shared = {"memory": memory.fileno(), "lock": store.lock}
        team = _Team(store, job, len(parts), status, numbers, feed, shared, waits)
        limits = assembly.limits.values() if asks_beside else ()
        own = own_share(limits, len(parts), len(parts) + 1)
        async with own, status.show_regularly(show), feed.read_again_and_again():
            ends = await gather_or_cancel(team.keep_playing(*one) for one in enumerate(parts))
    return worst_lags(ends)


@dataclass(slots=True)
class _Team:
    """The workers of one session."""

    store: RunStore
    job: Callable[..., WorkerJob]
    size: int
    status: WorkerStatus
    numbers: dict[int, int]
    """In *status*: of who plays each part of the conversations."""
    feed: TurnFeed
    shared: Mapping[str, int]
    """Descriptors that each worker has."""
    waits_s: float
    """Until a lost worker's asks no longer count within any rate limit."""

    async def keep_playing(self, number: int, part: Part) -> Lags:
        """Have *part* played to its end by the worker of that *number*, or by those that come after it."""
        for losses in count():
            try:
                return await self._play(number, part, losses)
            except WorkerGoneError as error:
                await self.feed.read()  # those turns are still its own
                name = self._name(number, losses)
                self.status.lost(self.numbers[part[0]])
                keep_lost_worker(self.store, number, name, str(error))
                log_event(logging.WARNING, "process lost", who=name, why=str(error))
                if losses == RESTARTS:
                    raise RunStoppedError(
                        f"stopped: {error}; so did the {RESTARTS} that went on in its place"
                    ) from error
                await asyncio.sleep(self.waits_s)
        raise AssertionError("count() has no end")

    async def _play(self, number: int, part: Part, losses: int) -> Lags:
        name = self._name(number, losses)
        joined = self.size * losses + number
        self.numbers[part[0]] = joined
        self.status.joined(joined, name)
        worker = WorkerProcess(
            __name__,
            self.job(worker=number, part=part, **({"is_fresh": False} if losses else {})),
            workers=self.size,
            **self.shared,
            gone=f"{self._name(number, 0)} ended before it was done (killed, or out of memory?)",
            told=self.feed.play_over,
        )
        try:
            await worker.start()
            await worker.result()
            self.status.started(joined)
            lags: Lags = await worker.result()
            await worker.finish()
        finally:
            await worker.close()
        return lags

    def _name(self, number: int, losses: int) -> str:
        name = f"process {number + 1} of {self.size}"
        return f"{name}, begun again" if losses else name


async def work(job: WorkerJob, parent: Parent) -> Lags:
    """
    Play the share of *job*, telling *parent* when all is ready and of each play that is over.

    Returns:
        How far the event loop lagged behind, by system.

    Raises:
        ReplayError: the run could not go on; what was answered until then is in its database.
    """
    # What is played is built here as it is in the program, and opened beside it.
    file = with_own_resolver(job.scenario())
    with code_may_run():
        assembly = assemble(file, data_is_read=True)
    for limit in assembly.limits.values():
        keep_share(limit, job.worker, job.limits_among)
    counts = SharedFailureCounts(parent.memory, [system.name for system in assembly.systems])
    settings = file.scenario.play
    store = RunStore(Path(job.run_folder), write=True, durability=settings.durability, worker=job.worker)
    try:
        rerun = Rerun.pending(store, assembly)
        async with assembly.service:
            parent.send(WorkerResult(None))
            try:
                return await play_share(
                    remaining_plays(assembly, store, rerun, part=job.part, is_fresh=job.is_fresh),
                    assembly,
                    store,
                    rerun,
                    _PlayReporter(parent),
                    concurrency=share_of(settings.concurrency, job.worker, job.workers),
                    start=job.start,
                    started_at=job.started_at,
                    breaker=system_breaker(assembly.patience, counts),
                )
            finally:
                keep_tally(assembly, store)
    finally:
        await in_thread(store.close)


class _PlayReporter:
    """Tells the parent of plays; their records it reads in the database."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent

    def recorded(self, record: TurnRecord) -> None:
        """Do nothing: see above."""

    def played(self, play: Play) -> None:
        conversation = play.source or play.conversation.id
        self._parent.send(FinishedPlay(conversation, play.repeat, play.system.name, play.policy_name))
