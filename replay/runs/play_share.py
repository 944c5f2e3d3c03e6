"""Plays a run, or a share of it, in this process and into the run's database."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from replay.core.asking.circuit_breaker import CircuitBreaker
from replay.play.engine import Observer, play_all
from replay.play.loop_lag import LagSummary
from replay.play.play import Play
from replay.play.player import PlayOptions
from replay.policies.rewriter import opened
from replay.results.play_events import cache_problems, keep_cache_problems, keep_unclosed
from replay.results.rerun_plan import Rerun
from replay.scenario.assembly import Assembly
from replay.scenario.telemetry_section import traces_of
from replay.store.store import RunStore

Lags = dict[str, LagSummary]
"""How far the event loop lagged behind, by system."""


async def play_share(
    plays: Iterator[Play],
    assembly: Assembly,
    store: RunStore,
    rerun: Rerun | None,
    observer: Observer | None,
    *,
    concurrency: int,
    started_at: float,
    start: float | None = None,
    breaker: CircuitBreaker | None = None,
) -> Lags:
    """
    Play *plays*, *concurrency* at a time, into *store*, or for *rerun*; the rest as for ``play_all``.

    Raises:
        ReplayError: the run could not go on; what was answered until then is in the store.
    """
    settings = assembly.file.scenario.play
    async with opened(assembly.policies.values()):
        lags = await play_all(
            plays,
            PlayOptions(
                patience=assembly.patience,
                on_failure=settings.on_failure,
                start=start,
                started_at=started_at,
                keep_raw=partial(store.add_raw, most_bytes=settings.raw_limit_bytes),
                keep_step=store.write_step,
                unclosed=partial(keep_unclosed, store.add_event),
                traces=traces_of(assembly.file.scenario, store.needed("id")),
                breaker=breaker,
            ),
            systems=assembly.systems,
            sink=rerun or store,
            concurrency=concurrency,
            observer=observer,
        )
    keep_cache_problems(store, cache_problems(assembly.systems))
    return lags
