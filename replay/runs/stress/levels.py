"""
Plays a load run: one level, or as many as a sweep needs, and what each came to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

from replay.core.conversation import Conversation
from replay.core.errors import RunStoppedError
from replay.core.logs import tell
from replay.play.load.host_consent import check_confirmed, hosts_to_confirm
from replay.play.load.level import Level, LevelOutcome
from replay.play.load.level_search import Search, bisect, steps
from replay.play.load.section import LoadSection
from replay.play.load.trace import Arrival
from replay.runs.stress.counting import Count, Tally, TallyKey
from replay.runs.stress.inputs import check_think_times, read_conversations, read_trace_of
from replay.runs.stress.level_players import LevelPlayer, LocalLevelPlayer
from replay.runs.stress.level_verdict import ObjectiveCheck
from replay.runs.stress.process_players import ProcessLevelPlayer
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore
from replay.store.stored import StoredTally

COUNTED_EVERY_S = 0.5
BEFORE_WORKERS_S = 0.25
"""Between telling several processes of a level and its beginning, so that they begin at once."""


@runtime_checkable
class LoadObserver(Protocol):
    """Told how a load run goes on, for progress displays; must return at once."""

    def level_began(self, level: Level) -> None: ...

    def counted(self, count: Count) -> None:
        """*count* is what came since the last call."""
        ...

    def level_over(self, level: Level, result: Mapping[str, Any]) -> None:
        """*result* as the run's ``level`` event has it."""
        ...


def check_hosts(assembly: Assembly) -> None:
    """
    Make sure that load goes only where the scenario's author may send it.

    Raises:
        InputError: a host beyond this machine and private networks isn't confirmed.
    """
    assert assembly.load is not None
    check_confirmed(hosts_under_load(assembly), assembly.load.yes_i_may_load)


def hosts_under_load(assembly: Assembly) -> list[str]:
    """Hosts that *assembly*'s scenario would reach and that have to be confirmed."""
    scenario = assembly.file.scenario
    # A policy may ask a system of its own at every turn, as an LLM rewriter does.
    asked = [*(system.settings for system in scenario.systems), *(p.settings for p in scenario.policies)]
    return hosts_to_confirm(asked)


async def play_under_load(assembly: Assembly, store: RunStore, observer: object = None) -> None:
    """
    Play *assembly*'s load into *store*.

    Raises:
        InputError: the data or the trace has faults.
        RunStoppedError: a system refuses our key, or failed too often in a row.
        ReplayError: the run could not go on; what was answered until then is in the store.
    """
    load = assembly.load
    assert load is not None
    told = observer if isinstance(observer, LoadObserver) else None
    conversations = await asyncio.to_thread(_read, assembly, store)
    trace = await asyncio.to_thread(read_trace_of, assembly, conversations)
    check_think_times(load, conversations)
    start = perf_counter()
    try:
        async with _level_players(assembly, load, conversations, trace, store, start) as players:
            await _play_levels(assembly, load, players, store, start, told)
    finally:
        store.add_turn_key()


def _read(assembly: Assembly, store: RunStore) -> list[Conversation]:
    """
    All conversations, since they are played again and again; the store keeps them too.

    Raises:
        DatasetError: one can't be read, or there is none.
    """
    conversations = read_conversations(
        assembly, lambda error: store.add_event("bad-conversation", {"message": str(error)})
    )
    for position, conversation in enumerate(conversations):
        store.add_conversation(position, conversation)
    return conversations


def _level_players(
    assembly: Assembly,
    load: LoadSection,
    conversations: Sequence[Conversation],
    trace: Sequence[Arrival],
    store: RunStore,
    start: float,
) -> LevelPlayer:
    if load.workers > 1:
        return ProcessLevelPlayer(assembly.file, load, store, start=start)
    return LocalLevelPlayer(assembly, load, conversations, store, start=start, trace=trace)


async def _play_levels(
    assembly: Assembly,
    load: LoadSection,
    players: LevelPlayer,
    store: RunStore,
    start: float,
    told: LoadObserver | None,
) -> None:
    objectives = ObjectiveCheck(assembly.objectives, assembly.scorers, store)
    search = _search(load)
    index = 0
    while True:
        value = _value(load) if search is None else search.next_level()
        if search is not None and value is None:
            return
        level = _level(load, index, value, perf_counter() - start)
        tell(logging.INFO, "level began", level=level.name, index=index)
        if told:
            told.level_began(level)
        result = await _play_level(level, players, store, start, objectives, told)
        over = {"index": index, "conversations": result["conversations"], "met": result["met"]}
        tell(logging.INFO, "level over", level=level.name, **over)
        if told:
            told.level_over(level, result)
        if search is None:
            return
        assert value is not None
        search.tell(value, result["met"] is not False)
        index += 1


async def _play_level(
    level: Level,
    players: LevelPlayer,
    store: RunStore,
    start: float,
    objectives: ObjectiveCheck,
    told: LoadObserver | None,
) -> dict[str, Any]:
    counting = asyncio.create_task(_keep_counting(players, told)) if told else None
    outcome: LevelOutcome | None = None
    stopped: str | None = None
    try:
        outcome = await players.play(level)
    except RunStoppedError as error:
        stopped = str(error)
        raise
    finally:
        if counting:
            counting.cancel()
            with suppress(asyncio.CancelledError):
                await counting
        _keep_tallies(players.taken_tallies(), store)
        if told:
            told.counted(players.taken_count())
        result = _result(level, outcome, perf_counter() - start, stopped)
        if outcome is None:  # interrupted or stopped: what was measured until now can be reported
            store.add_event("level", result)
    await store.flush()
    result |= await asyncio.to_thread(objectives.check, level, result)
    store.add_event("level", result)
    return result


async def _keep_counting(players: LevelPlayer, told: LoadObserver) -> None:
    while True:
        await asyncio.sleep(COUNTED_EVERY_S)
        told.counted(players.taken_count())


def _result(level: Level, outcome: LevelOutcome | None, now_s: float, stopped: str | None) -> dict[str, Any]:
    """What the run's database keeps of a level, but for what became of the objectives."""
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
        "lag": outcome.lag if outcome else None,
        "interrupted": outcome is None,
        "stopped": stopped,
        "met": None,
        "goals": [],
    }


def _keep_tallies(tallies: Mapping[TallyKey, Tally], store: RunStore) -> None:
    for key, tally in tallies.items():
        store.set_tally(StoredTally(*key, tally.data()))


def _value(load: LoadSection) -> float | None:
    match load.profile:
        case "closed":
            return float(load.concurrency)
        case "trace":
            return None
        case _:
            return load.rate


def _search(load: LoadSection) -> Search | None:
    sweep = load.sweep
    if sweep is None:
        return None
    if sweep.levels:
        return steps(sweep.levels, go_on=sweep.go_on or not load.slo, confirm=sweep.confirm)
    assert sweep.low is not None
    assert sweep.high is not None
    return bisect(
        sweep.low, sweep.high, resolution=sweep.resolution, whole=not load.open, confirm=sweep.confirm
    )


def _level(load: LoadSection, index: int, value: float | None, now_s: float) -> Level:
    return Level(
        index=index,
        value=value,
        is_open=load.open,
        start_s=now_s + (BEFORE_WORKERS_S if load.workers > 1 else 0.0),
        ramp_s=load.ramp_s,
        warmup_s=load.warmup_s,
        duration_s=load.duration_s,
        conversations=load.conversations,
        turns=load.turns,
    )
