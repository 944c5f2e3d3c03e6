"""How every run ends, with load or without: marked, scored, judged and checked, or kept for a resume."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from replay.core.cancelling import stoppable
from replay.core.errors import PluginError, RunStoppedError
from replay.runs.checking import check_into
from replay.runs.judging import judge_into
from replay.runs.resolver_asks import keep_tally
from replay.runs.scoring import chosen_scorers, score_into
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore


@asynccontextmanager
async def ending(
    assembly: Assembly, store: RunStore, observer: object, *, next_step: str
) -> AsyncIterator[None]:
    """
    Around the playing of a run: scores, judges and checks what was answered once it is over.

    What interrupts or stops the playing is an event of the run; a stop's message then names *next_step*.

    Raises:
        PluginError, RunStoppedError: as the playing did.
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
    await store.flush()  # scoring reads what was just written
    scenario = assembly.file.scenario
    choices = chosen_scorers(store) or scenario.scorers
    await stoppable(partial(score_into, store, choices, cluster=scenario.cluster))
    await stoppable(partial(check_into, store))  # judges may be stopped, and most checks don't wait for them
    if assembly.judges:
        await judge_into(store, assembly.judges, told=getattr(observer, "judged", None))
        await stoppable(partial(check_into, store))
    await store.flush()  # who exports the run reads what was just written
