"""What a worker does that plays a share of a run (``replay.workers.worker_main``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from replay.core.lifetimes import in_thread
from replay.core.record import TurnRecord
from replay.core.safety.consent import code_may_run
from replay.play.load.level import share_of
from replay.play.play import Play
from replay.play.player import system_breaker
from replay.results.play_events import keep_tally
from replay.results.rerun_plan import Rerun
from replay.runs.following import FinishedPlay
from replay.runs.play_share import Lags, play_share
from replay.runs.remaining_plays import remaining_plays
from replay.scenario.assembly import assemble
from replay.scenario.reading import ScenarioFile
from replay.store.store import RunStore
from replay.workers.failure_counts import SharedFailureCounts
from replay.workers.job import WorkerJob, keep_share
from replay.workers.process import WorkerResult
from replay.workers.worker_main import Parent


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


def with_own_resolver(file: ScenarioFile) -> ScenarioFile:
    """Return *file* with drift detected within this process, unless it says more."""
    drift = file.scenario.drift
    if "nlp_workers" in drift.model_fields_set:
        return file
    drift = drift.model_copy(update={"nlp_workers": 0})
    return replace(file, scenario=file.scenario.model_copy(update={"drift": drift}))


class _PlayReporter:
    """Tells the parent of plays; their records it reads in the database."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent

    def recorded(self, record: TurnRecord) -> None:
        """Do nothing: see above."""

    def played(self, play: Play) -> None:
        conversation = play.source or play.conversation.id
        self._parent.send(FinishedPlay(conversation, play.repeat, play.system.name, play.policy_name))
