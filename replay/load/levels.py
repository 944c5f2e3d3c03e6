"""
Plays a load run: one level, or as many as a sweep needs, and what each came to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from itertools import count
from time import perf_counter, time
from typing import Any, Protocol, runtime_checkable

from replay.core.errors import RunStoppedError
from replay.core.lifetimes import cancel_and_wait, in_thread
from replay.core.logs import log_event
from replay.core.safety.consent import check_confirmed, hosts_to_confirm
from replay.load.counting import Count, Counts
from replay.load.inputs import LoadInputs, read_inputs
from replay.load.level_players import LocalLevelPlayer
from replay.load.level_verdict import ObjectiveCheck
from replay.load.worker_players import WorkerLevelPlayer
from replay.play.load.level import Level, LevelOutcome, bisect, confirm, steps
from replay.play.load.section import LoadSection
from replay.scenario.assembly import Assembly
from replay.scenario.expected_checks import ExpectedChecks
from replay.scenario.parts import endpoint_settings, parts_of
from replay.store.rows import StoredTally
from replay.store.store import RunStore
from replay.workers.job import workers_within_limits

COUNTED_EVERY_S = 0.5
LOADED = "loaded"
"""The fact of a run that all its load was played; what is left then needs no system."""


class LevelPlayer(Protocol):
    """Who plays level after level."""

    @property
    def counts(self) -> Counts:
        """Return what was counted and not yet taken."""
        ...

    def opened(self) -> AbstractAsyncContextManager[object]:
        """Open everything that is played with, for the time of the run."""
        ...

    async def prepare(self) -> float:
        """Prepare the next level; return how many seconds before its beginning it has to be given."""
        ...

    async def play(self, level: Level) -> LevelOutcome:
        """
        Play *level* to its end.

        Raises:
            ReplayError: the run could not go on; what was answered until then is in the store.
        """
        ...


@runtime_checkable
class LoadObserver(Protocol):
    """Follows a load run, as a progress display does; must return at once."""

    def level_began(self, level: Level) -> None: ...

    def counted(self, count: Count) -> None:
        """Take note of *count*, what was counted since the last call."""
        ...

    def level_over(self, level: Level, result: Mapping[str, Any]) -> None:
        """Take note of the *result* of a level, as in the run's ``level`` event."""
        ...


def check_hosts(assembly: Assembly, may_load: Iterable[str]) -> None:
    """
    Make sure that load goes only where whoever starts the run may send it, which is to the hosts *may_load*.

    Raises:
        InputError: a host beyond this machine and private networks isn't among them.
    """
    check_confirmed(hosts_under_load(assembly), may_load)


def hosts_under_load(assembly: Assembly) -> list[str]:
    """
    Return the hosts that *assembly*'s scenario would reach and that need confirmation.

    Those of its systems, and of whatever its policies, resolver and judges ask.
    """
    file = assembly.file
    return hosts_to_confirm(
        settings
        for part in parts_of(file.scenario)
        for asked in endpoint_settings(part, file.folder, assembly.adapters)
        for settings in (asked.settings, {"url": asked.own_hosts})
    )


async def play_under_load(assembly: Assembly, store: RunStore, observer: object = None) -> None:
    """
    Play *assembly*'s load into *store*.

    Raises:
        InputError: the data or the trace has faults.
        RunStoppedError: a system refuses our key, or failed too often in a row.
        ReplayError: the run could not go on; what was answered until then is in the store.
    """
    inputs = await in_thread(_read, assembly, store)
    load = inputs.load
    start, started_at = perf_counter(), time()
    player: LevelPlayer
    workers = workers_within_limits(load.workers, assembly.limits.values())
    if assembly.file.scenario.cluster is not None:
        from replay.load.cluster_players import ClusterLevelPlayer

        player = ClusterLevelPlayer(inputs, store, start=start, started_at=started_at)
    elif workers > 1:
        player = WorkerLevelPlayer(inputs, store, workers=workers, start=start, started_at=started_at)
    else:
        player = LocalLevelPlayer(inputs, store, start=start, started_at=started_at, run=store.needed("id"))
    watching = observer if isinstance(observer, LoadObserver) else None
    try:
        async with player.opened():
            await _play_levels(assembly, load, player, store, start, watching)
    finally:
        store.add_turn_key()
    store.set_fact(LOADED, True)


def _read(assembly: Assembly, store: RunStore) -> LoadInputs:
    """Return everything that is read before the run, storing the conversations."""
    inputs = read_inputs(assembly, lambda error: store.add_event("bad-conversation", {"message": str(error)}))
    expected = ExpectedChecks(assembly)
    store.add_conversations(inputs.conversations)
    for conversation in inputs.conversations:
        expected.add(conversation)
    expected.validate()
    return inputs


async def _play_levels(
    assembly: Assembly,
    load: LoadSection,
    player: LevelPlayer,
    store: RunStore,
    start: float,
    observer: LoadObserver | None,
) -> None:
    objectives = ObjectiveCheck(assembly.objectives, assembly.scorers, store)
    values = _values(load)
    value = next(values)
    for index in count():
        lead_s = await player.prepare()
        level = _level(load, index, value, perf_counter() - start + lead_s)
        log_event(logging.INFO, "level began", level=level.name, index=index)
        if observer:
            observer.level_began(level)
        result = await _play_level(level, player, store, start, objectives, observer)
        over = {"index": index, "conversations": result["conversations"], "met": result["met"]}
        log_event(logging.INFO, "level over", level=level.name, **over)
        if observer:
            observer.level_over(level, result)
        try:
            value = values.send(result["met"] is not False)
        except StopIteration:
            return


async def _play_level(
    level: Level,
    player: LevelPlayer,
    store: RunStore,
    start: float,
    objectives: ObjectiveCheck,
    observer: LoadObserver | None,
) -> dict[str, Any]:
    counting = asyncio.create_task(_keep_counting(player, observer)) if observer else None
    outcome: LevelOutcome | None = None
    stopped: str | None = None
    try:
        outcome = await player.play(level)
    except RunStoppedError as error:
        stopped = str(error)
        raise
    finally:
        if counting:
            await cancel_and_wait(counting)
        for key, tally in player.counts.take_tallies().items():
            store.set_tally(StoredTally(*key, tally.data()))
        if observer:
            observer.counted(player.counts.take_count())
        result = _result(level, outcome, perf_counter() - start, stopped)
        if outcome is None:  # interrupted or stopped: what was measured until now can be reported
            store.add_event("level", result)
    await store.flush()
    result |= await in_thread(objectives.check, level, result)
    store.add_event("level", result)
    return result


async def _keep_counting(player: LevelPlayer, observer: LoadObserver) -> None:
    while True:
        await asyncio.sleep(COUNTED_EVERY_S)
        observer.counted(player.counts.take_count())


def _result(level: Level, outcome: LevelOutcome | None, now_s: float, stopped: str | None) -> dict[str, Any]:
    """Return what the run's database keeps of a level, with the objectives not judged yet."""
    began, ended = level.window_s
    ended_s = outcome.ended_s if outcome else now_s
    return {
        "index": level.index,
        "name": level.name,
        "value": level.value,
        "began_s": level.start_s,
        "measured_from_s": began,
        "measured_to_s": min(ended, ended_s),
        "ended_s": ended_s,
        "conversations": outcome.conversations if outcome else None,
        "cut": outcome.cut if outcome else None,
        "delayed": outcome.delayed if outcome else 0,
        "generators": outcome.generators if outcome else (),
        "unclosed": outcome.unclosed if outcome else 0,
        "first_unclosed": outcome.first_unclosed if outcome else "",
        "interrupted": outcome is None,
        "stopped": stopped,
        "met": None,
        "goals": [],
    }


def _values(load: LoadSection) -> Generator[float | None, bool, None]:
    """Yield the load of each level in turn; expects to be sent whether the level met the objectives."""
    sweep = load.sweep
    if sweep is None:
        alone = {"closed": float(load.concurrency), "trace": None, "recorded": None}
        yield alone.get(load.profile, load.rate)
    elif sweep.low is None or sweep.high is None:
        search = steps(sweep.levels, go_on=sweep.go_on or not load.slo)
        yield from confirm(search, sweep.confirm)
    else:
        search = bisect(sweep.low, sweep.high, resolution=sweep.resolution, whole=not load.open)
        yield from confirm(search, sweep.confirm)


def _level(load: LoadSection, index: int, value: float | None, start_s: float) -> Level:
    return Level(
        index=index,
        value=value,
        is_open=load.open,
        start_s=start_s,
        ramp_s=load.ramp_s,
        warmup_s=load.warmup_s,
        duration_s=load.duration_s,
        conversations=load.conversations,
        turns=load.turns,
    )
