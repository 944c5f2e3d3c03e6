"""How every run ends, with load or without: marked, scored, judged and checked, or kept for a resume."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from replay.core.errors import PluginError, RunStoppedError
from replay.core.uncancellable import stoppable
from replay.results.play_events import keep_tally
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore


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
