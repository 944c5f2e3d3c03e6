"""A session of a run without load: what is left of it is played, then all of it scored."""

from __future__ import annotations

from functools import partial

from replay.core.uncancellable import stoppable
from replay.play.engine import Observer
from replay.results.rerun_plan import Rerun
from replay.results.run_data import DATA_IS_READ, read_data
from replay.results.telemetry import export_status
from replay.runs.finalize import finalizing
from replay.runs.players import play_left
from replay.runs.remaining_plays import turns_left
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore


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
