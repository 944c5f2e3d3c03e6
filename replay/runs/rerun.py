"""
Asks chosen turns of a finished run again, into the same run: those that failed, or those of one depth.

The turns as they were before stay in the run's table ``superseded``. What a turn's answer was the
history of is asked again as well; see ``replay.results.rerun_plan``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replay.core.lifetimes import in_thread
from replay.core.logs import logging_run
from replay.core.safety.consent import check_consent, code_may_run
from replay.play.engine import Observer
from replay.results.consent import actions_of_untrusted_run
from replay.results.rerun_plan import begin, plan_for, read_conditions
from replay.results.run import Run
from replay.runs.launch import without_loop
from replay.runs.playing import play_and_score
from replay.scenario.assembly import assemble
from replay.scenario.reading import with_cluster, with_workers
from replay.scenario.sections import Workers
from replay.store.store import RunStore


def count_chosen(folder: str | Path, only: Sequence[str]) -> int:
    """
    Return how many turns ``rerun_async`` would ask again; of an interrupted rerun, the number it began with.

    Raises:
        RunError, InputError: as for ``rerun_async``.
    """
    conditions = read_conditions(only)
    store = RunStore(Path(folder))
    try:
        return len(plan_for(store, conditions).turns)
    finally:
        store.close()


async def rerun_async(
    folder: str | Path,
    only: Sequence[str] = ("failed",),
    *,
    observer: Observer | None = None,
    allow_code: bool = False,
    workers: Workers | None = None,
    on: str | None = None,
) -> Run:
    """
    Ask again those turns of the run in *folder* for which all conditions in *only* hold; then score it.

    Under a policy whose history holds the system's own answers, all later turns of the conversation are
    asked again too, and where the system keeps the history, all turns of it. When nothing is chosen,
    nothing happens. After an interruption the same call goes on, and so does ``resume_async``. *allow_code*,
    *workers* and *on* are as there.

    Raises:
        RunError: there is no such run, it isn't finished, another process is writing it, or it is not this
            user's and *allow_code* is missing.
        InputError, PluginError, ResolverError, RunStoppedError: as for ``run_async``.
    """
    check_consent(actions_of_untrusted_run(Path(folder)), allow_code=allow_code)
    with code_may_run():
        return await _rerun(Path(folder), only, observer, workers, on)


async def _rerun(
    folder: Path, only: Sequence[str], observer: Observer | None, workers: Workers | None, on: str | None
) -> Run:
    conditions = read_conditions(only)
    run = Run(folder)
    file = with_cluster(with_workers(run.scenario(), workers), on)
    assembly = assemble(file, data_is_read=True)
    store = RunStore(folder, write=True, durability=assembly.file.scenario.play.durability)
    try:
        if await in_thread(begin, store, conditions):
            await store.flush()
            with logging_run(store.folder.name, scenario=assembly.file.source, rerun=list(only)):
                await play_and_score(assembly, store, observer)
    finally:
        await in_thread(store.close)
    return run


@without_loop(rerun_async)
def rerun() -> None:
    """Do what ``rerun_async`` does, in a program without an event loop."""
