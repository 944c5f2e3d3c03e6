"""
A session of a run without load: what is left of it is played, then all of it scored.

Who plays: this process, several others (``play.workers``), or the nodes of a cluster (``cluster``), with
the same records. Every run ends alike, with load or without: marked, scored, judged and checked, or kept
for a resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from time import time

from loky import cpu_count

from replay.core.errors import PluginError, RunStoppedError
from replay.core.lifetimes import stoppable
from replay.play.engine import Observer
from replay.results.late_drift import LateDrift
from replay.results.play_events import keep_tally, with_versions
from replay.results.rerun_plan import Rerun
from replay.results.run_data import DATA_IS_READ, read_data
from replay.results.telemetry import export_status
from replay.runs.following import RunListeners, WorkerProgress, as_fact
from replay.runs.play_share import play_share, remaining_plays, turns_left
from replay.scenario.assembly import Assembly
from replay.scenario.sections import Scenario
from replay.store.store import RunStore
from replay.workers.job import workers_within_limits


@asynccontextmanager
async def finalizing(
    assembly: Assembly, store: RunStore, observer: object, *, next_step: str
) -> AsyncIterator[None]:
    """
    Score, judge and check the run once the block, which plays it, has ended without an error.

    What interrupts or stops the block is recorded as an event of the run.

    Args:
        next_step: Says in the message of a stop how to go on.

    Raises:
        PluginError, RunStoppedError: as the block did.
    """
    try:
        try:
            yield
        finally:
            keep_tally(assembly, store)
    except asyncio.CancelledError:
        store.add_event("interrupted", {})
        raise
    except (PluginError, RunStoppedError) as error:
        store.add_event("stopped", {"message": str(error)})
        raise type(error)(f"{error}\nwhat was answered is kept; {next_step}") from error
    store.set_fact("finished", True)
    await _finish(assembly, store, observer)


async def _finish(assembly: Assembly, store: RunStore, observer: object) -> None:
    # Only now: no question waits for what scores and judges need.
    from replay.results.checking import check_into
    from replay.results.recorded import compare_recorded_into
    from replay.results.scoring import chosen_scorers, score_into

    await store.flush()  # scoring reads what was just written
    scenario = assembly.file.scenario
    chosen = chosen_scorers(store)
    built = None if chosen else assembly.scorers
    scoring = partial(score_into, store, chosen or scenario.scorers, built=built, cluster=scenario.cluster)
    await stoppable(scoring)
    compare = partial(compare_recorded_into, store, scenario.recorded)
    await stoppable(partial(check_into, store))  # judges may be stopped, and most checks don't wait for them
    await stoppable(compare)
    if assembly.judges:
        from replay.results.judging import judge_into

        await judge_into(store, assembly.judges, told=getattr(observer, "judged", None))
        await stoppable(partial(check_into, store))
        await stoppable(compare)
    await store.flush()  # who exports the run reads what was just written


PLAYERS = "players"
"""The fact of who plays the run, or played it last."""


def playing_processes(scenario: Scenario) -> int:
    """
    Return how many processes are to play *scenario*; 1 is this one.

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
    Play what *store* has no record of, and what *rerun* still has to ask; then detect what drift is left.

    Raises:
        PluginError, ResolverError, RunStoppedError: as for ``run_async``.
    """
    scenario = assembly.file.scenario
    late = LateDrift(assembly, store, observer)
    following, show = RunListeners(observer, late), partial(_show_players, store, observer)
    # Late verdicts are made here, and may ask a model within the same rate limit.
    asks_beside = bool(late.policies) and "resolver" in assembly.limits
    workers = workers_within_limits(
        playing_processes(scenario), assembly.limits.values(), asks_beside=asks_beside
    )
    is_here = workers == 1 and scenario.cluster is None
    async with AsyncExitStack() as stack:
        if is_here or late.policies:
            await stack.enter_async_context(assembly.service)
        async with late.beside():
            if scenario.cluster is not None:
                from replay.runs.cluster_plays import play_on_cluster

                lags = await play_on_cluster(assembly, store, rerun, following, show, asks_beside=asks_beside)
            elif is_here:
                plays = with_versions(remaining_plays(assembly, store, rerun), assembly, store)
                concurrency = scenario.play.concurrency
                lags = await play_share(
                    plays, assembly, store, rerun, following, concurrency=concurrency, started_at=time()
                )
            else:
                from replay.runs.worker_plays import play_in_workers

                lags = await play_in_workers(
                    workers, assembly, store, rerun, following, show, asks_beside=asks_beside
                )
        store.add_event("loop-lag", lags)
        await late.rest()


def _show_players(store: RunStore, observer: Observer | None, players: Sequence[WorkerProgress]) -> None:
    """Store the workers that play the run, and pass them to *observer* if it has a method ``players``."""
    store.set_fact(PLAYERS, as_fact(players))
    if shows := getattr(observer, "players", None):
        shows(players)


async def play_and_score(assembly: Assembly, store: RunStore, observer: Observer | None) -> None:
    """
    Play what *store* has no record of yet, and what a rerun of it still has to ask; then score all of it.

    Raises:
        InputError, PluginError, ResolverError, RunStoppedError: as for ``run_async``.
    """
    resume = f"once that is mended, go on with: replay resume {store.folder}"
    telemetry = export_status(store.folder, assembly.file, observer)
    async with telemetry, finalizing(assembly, store, observer, next_step=resume):
        if not store.fact(DATA_IS_READ):
            await stoppable(partial(read_data, assembly, store))
        if expects := getattr(observer, "expects", None):
            expects(turns_left(assembly, store))
        rerun = Rerun.pending(store, assembly)
        await play_left(assembly, store, rerun, observer)
        if rerun:
            rerun.finish()
