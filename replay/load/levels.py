"""
Plays a load run: one level, or as many as a sweep needs, what each came to, and whether it kept the
objectives, found out as soon as it is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import count
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from replay.core.errors import RunStoppedError
from replay.core.lifetimes import cancel_and_wait, in_thread
from replay.core.logs import log_event
from replay.core.safety.consent import check_confirmed, hosts_to_confirm
from replay.load.counting import Count, Counts
from replay.load.inputs import LoadInputs, read_inputs
from replay.load.level_players import COUNTED_EVERY_S, LocalLevelPlayer, WorkerLevelPlayer
from replay.play.load.level import Level, LevelOutcome, Objective, bisect, confirm, steps
from replay.play.load.section import LoadSection
from replay.scenario.assembly import Assembly
from replay.scenario.expected_checks import ExpectedChecks
from replay.scenario.side_effects import endpoint_settings, parts_of
from replay.scorers.observing import observe
from replay.scorers.scorer import Scorer, Unscored
from replay.statistics.score_column import ScoreColumn, in_parts, survey_scorers
from replay.store.rows import StoredTally
from replay.store.store import RunStore
from replay.workers.job import workers_within_limits

if TYPE_CHECKING:
    from replay.statistics.load.load_cell import AnswerTimes, LoadCell


class ObjectiveCheck:
    """Checks level after level; the first is what scores are compared with."""

    def __init__(
        self, objectives: Sequence[Objective], scorers: Mapping[str, Scorer[Any]], store: RunStore
    ) -> None:
        self._objectives = objectives
        self._scorers = {
            objective.measure: scorers[objective.measure]
            for objective in objectives
            if objective.kind in ("min", "drop")
        }
        self._store = store
        self._first_scores: Mapping[str, float | None] | None = None

    def check(self, level: Level, result: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return ``met`` and, objective by objective, ``goals`` of a level whose records are durable.

        Empty where there are no objectives.
        """
        if not self._objectives:
            return {}
        from replay.load.numbers import read_window  # numpy: 16 MB that a run without objectives saves

        due_s = result["measured_from_s"], result["measured_to_s"]
        cell, times = read_window(self._store, level.index, due_s)
        scores = self._scores(*due_s)
        if self._first_scores is None:
            self._first_scores = scores
        values = {one.key: self._value(one, cell, times, scores) for one in self._objectives}
        found = [
            {
                "goal": str(objective),
                "key": objective.key,
                "value": values[objective.key],
                "met": objective.met(values),
            }
            for objective in self._objectives
        ]
        return {"met": all(one["met"] for one in found), "goals": found}

    def _value(
        self, objective: Objective, cell: LoadCell, times: AnswerTimes, scores: Mapping[str, float | None]
    ) -> float | None:
        match objective.kind:
            case "errors":
                return cell.error_share
            case "time":
                assert objective.percentile is not None
                found = times.of(objective.measure).quantiles([objective.percentile / 100])
                return found[0] if found else None
            case "min":
                return scores[objective.measure]
            case "drop":
                assert self._first_scores is not None
                first, now = self._first_scores[objective.measure], scores[objective.measure]
                return None if first is None or now is None else first - now

    def _scores(self, from_s: float, to_s: float) -> dict[str, float | None]:
        """Return the scores, by label, of the turns that were due in the window."""
        due = partial(self._store.records_due, from_s, to_s)
        scorers = survey_scorers(self._scorers, due)
        observed: dict[str, list[Any]] = {label: [] for label in scorers}
        for records in in_parts(due()) if scorers else ():
            for label, scorer in scorers.items():
                found = observe(label, scorer, records)
                observed[label] += [one for one in found if not isinstance(one, Unscored)]
        return {
            label: ScoreColumn(scorer=scorers[label], observed=scored).value(range(len(scored)))
            for label, scored in observed.items()
        }


LOADED = "loaded"
"""The fact of a run that all its load was played; what is left then needs no system."""


class LevelPlayer(Protocol):
    """Who plays level after level."""

    @property
    def counts(self) -> Counts:
        """Return what was counted and not yet taken."""
        ...

    def open(self) -> AbstractAsyncContextManager[object]:
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
        player = LocalLevelPlayer(
            inputs, store, start=start, started_at=started_at, run=store.required_fact("id")
        )
    watching = observer if isinstance(observer, LoadObserver) else None
    try:
        async with player.open():
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
