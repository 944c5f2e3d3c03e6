"""
Who plays a run: this process, several others (``play.workers``), or the nodes of a cluster (``cluster``),
with the same records.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from time import time

from loky import cpu_count

from replay.play.engine import Observer
from replay.results.late_drift import LateDrift
from replay.results.rerun_plan import Rerun
from replay.results.versions import with_versions
from replay.runs.following import RunListeners
from replay.runs.play_share import play_share
from replay.runs.remaining_plays import remaining_plays
from replay.scenario.assembly import Assembly
from replay.scenario.sections import Scenario
from replay.store.store import RunStore
from replay.workers.job import workers_within_limits
from replay.workers.status import WorkerProgress, as_fact

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
