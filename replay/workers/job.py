"""What a worker is to do: a share of a run, described so that another process can begin it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from replay.core.asking.limits import LocalTokenBucket, RateLimit
from replay.play.load.level import share_of
from replay.scenario.reading import ScenarioFile, parse_scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerJob:
    """A share of playing a scenario."""

    text: str
    source: str
    folder: str
    """The scenario."""
    run: str
    """The run's own id."""
    start: float
    """Reading of ``perf_counter`` when the run started, by the clock of the machine that plays."""
    started_at: float
    """When that was, in seconds since 1970."""
    worker: int = 0
    """Which of those that are started it is, from 0."""
    workers: int = 1
    """How many are."""
    run_folder: str = ""
    """Where the run's database is; of no use to a node of a cluster, which sends what it plays."""
    part: tuple[int, int] = (0, 1)
    """The conversations: those whose position in the data, divided by the second number, leaves the first."""
    is_fresh: bool = False
    """Nothing of the run was played before."""
    limits_among: int = 1
    """How many share the rate limits: the workers, and the program where it asks beside them."""

    @classmethod
    def of(cls, file: ScenarioFile, **fields: Any) -> Self:
        """Return a share of playing *file*; *fields* are the others."""
        return cls(text=file.text, source=file.source, folder=str(file.folder), **fields)

    def scenario(self) -> ScenarioFile:
        """Return the scenario as it is played."""
        return scenario_as_played(self.text, source=self.source, folder=Path(self.folder))


def scenario_as_played(text: str, *, source: str, folder: Path) -> ScenarioFile:
    """Return the scenario without what is done with answers, which is done where the run is kept."""
    file = parse_scenario(text, source=source, folder=folder)
    scenario = file.scenario
    changes: dict[str, Any] = {"scorers": (), "judges": (), "assertions": ()}
    if scenario.telemetry:
        changes["telemetry"] = scenario.telemetry.model_copy(update={"endpoint": None, "file": None})
    if scenario.load:
        changes["load"] = scenario.load.model_copy(update={"slo": {}})
    return replace(file, scenario=scenario.model_copy(update=changes))


def keep_share(limit: RateLimit, index: int, among: int) -> None:
    """
    Let *limit* give out one share of its asks alone: the one of *index* from 0 of *among* equal ones.

    What doesn't divide goes to the first ones, so that all shares together are the limit.
    """
    limit.tokens = LocalTokenBucket(share_of(limit.asks, index, among), limit.per_s)


@asynccontextmanager
async def own_share(limits: Iterable[RateLimit], index: int, among: int) -> AsyncIterator[None]:
    """Keep this program to a share of *limits* within the block, in which others play; see ``keep_share``."""
    limits = list(limits)
    for limit in limits:
        await limit.tokens.resize(share_of(limit.asks, index, among))
    try:
        yield
    finally:
        restore_later(limits)


def restore_later(limits: Iterable[RateLimit]) -> None:
    """Let this program have all of each limit again, once no ask of those who ended counts any longer."""
    for limit in limits:
        asyncio.get_running_loop().call_later(limit.per_s, _restore, limit)


def _restore(limit: RateLimit) -> None:
    asyncio.get_running_loop().create_task(limit.tokens.resize(limit.asks))


def workers_within_limits(workers: int, limits: Iterable[RateLimit], *, asks_beside: bool = False) -> int:
    """
    Return how many of *workers* can each have a share of every one of *limits*.

    A limit of fewer asks than there are workers can't be divided among them. Where the program *asks_beside*
    them, as it does for late verdicts, it has a share too.
    """
    return max(1, min([workers, *(limit.asks - asks_beside for limit in limits)]))
