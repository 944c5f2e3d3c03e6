"""Plays a run, or a share of it, in this process and into the run's database."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from replay.core.adapter import RawReply
from replay.core.asking.limits import CircuitBreaker
from replay.core.load_record import LagSummary
from replay.core.record import Step, TurnPlace
from replay.play.engine import Observer, play_all
from replay.play.loop_lag import worst
from replay.play.play import Play
from replay.play.player import PlayOptions
from replay.policies.rewrite import opened
from replay.results.play_events import cache_problems, keep_cache_problems, keep_unclosed
from replay.results.rerun_plan import Rerun
from replay.scenario.assembly import Assembly
from replay.scenario.optional_sections import traces_of
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
    run = store.needed("id")
    async with opened(assembly.policies.values()):
        lags = await play_all(
            plays,
            play_options(assembly, store, run=run, start=start, started_at=started_at, breaker=breaker),
            systems=assembly.systems,
            sink=rerun or store,
            concurrency=concurrency,
            observer=observer,
        )
    keep_cache_problems(store, cache_problems(assembly.systems))
    return lags


class PlayStore(Protocol):
    """Where goes what comes of plays beside their records: the run's database, or the way there."""

    def add_raw(self, reply: RawReply, *, most_bytes: int) -> None: ...

    def write_step(self, place: TurnPlace, number: int, asked: str, step: Step) -> Awaitable[None]: ...

    def add_event(self, kind: str, data: Any) -> None: ...


def play_options(
    assembly: Assembly,
    store: PlayStore,
    *,
    run: str,
    start: float | None,
    started_at: float,
    breaker: CircuitBreaker | None,
) -> PlayOptions:
    """Return how plays of *assembly* are played for the *run* of that id; the rest as for ``PlayOptions``."""
    settings = assembly.file.scenario.play
    return PlayOptions(
        patience=assembly.patience,
        on_failure=settings.on_failure,
        start=start,
        started_at=started_at,
        keep_raw=partial(store.add_raw, most_bytes=settings.raw_limit_bytes),
        keep_step=store.write_step,
        unclosed=partial(keep_unclosed, store.add_event),
        traces=traces_of(assembly.file.scenario, run),
        breaker=breaker,
    )


def worst_lags(shares: Iterable[Mapping[str, LagSummary]]) -> Lags:
    """Return the worst of all *shares* of a run by system, where it is known."""
    lags: dict[str, list[LagSummary]] = {}
    for share in shares:
        for system, lag in share.items():
            lags.setdefault(system, []).append(lag)
    found = {system: worst(lags[system]) for system in sorted(lags)}
    return {system: lag for system, lag in found.items() if lag is not None}
