"""
All the numbers of a run that take long, computed at once, and the turns behind each number that failed.

What a run was held against is of four kinds: the scenario's assertions, a stress run's objectives level by
level, what the data checks, and scores that say yes or no of a turn, as exact match does.

A server computes each thing by one task at a time, keeps failures, and has numbers made in a process of its
own. Those of a large run take seconds. In a thread that would keep taking the interpreter away from whoever
is looking at a page; and a run that goes on beside it on this machine must not be slowed down in what it
measures, so the process has low priority.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

import numpy as np

from replay.core.errors import ReplayError, RunError
from replay.core.expectation import CheckResult
from replay.core.lifetimes import leave_with
from replay.core.load_record import LevelPlayed, ObjectiveResult
from replay.core.record import RECORDED_BETTER, RECORDED_WORSE
from replay.results.comparing import check_assertions
from replay.results.run import Run
from replay.results.run_report import run_attribution
from replay.scenario.assertions.findings import AssertionResult
from replay.scorers.scorer import SHARE, Scorer, unit_of
from replay.statistics.attribution import GapAttribution
from replay.statistics.checks import Checks
from replay.statistics.group import Group
from replay.statistics.load.load_summary import LoadSummary
from replay.statistics.run_numbers import Report
from replay.store.page_queries import RecordKey, RunBrowser, TimedTurn

if TYPE_CHECKING:
    from loky.process_executor import ProcessPoolExecutor as LokyPool

_DURATIONS = {
    "latency": "done_s - sent_s",
    "response": "done_s - scheduled_s",
    "ttft": "first_token_s - sent_s",
}
_FAILED = "outcome NOT IN ('answered', 'skipped')"


@dataclass(frozen=True, kw_only=True)
class BrokenRule:
    """Something that failed, with its turns."""

    id: str
    """As in the addresses of pages; of the same run always the same."""
    kind: Literal["assertion", "objective", "checks", "some-checks", "score"]
    """``some-checks`` of one group or depth: reached from its number, and offered nowhere else."""
    rule: str
    """What should have held."""
    where: str
    """For whom it didn't; empty where that is said of all."""
    turns: Sequence[RecordKey]

    @property
    def title(self) -> str:
        """In a line."""
        return f"{self.rule}: {self.where}" if self.where else self.rule

    @cached_property
    def by_conversation(self) -> Mapping[str, Sequence[RecordKey]]:
        """The turns of each conversation, by depth."""
        found: dict[str, list[RecordKey]] = {}
        for turn in sorted(self.turns, key=lambda turn: turn.depth):
            found.setdefault(turn.conversation, []).append(turn)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What became of a scenario's assertions."""

    results: tuple[AssertionResult, ...]
    problem: str = ""
    """Why they could not be checked."""

    @property
    def failures(self) -> int:
        return sum(not one.holds for one in self.results)

    @property
    def summary(self) -> str:
        """In a word or three; empty where nothing was asserted."""
        if self.problem:
            return "not checked"
        of = len(self.results)
        return f"{self.failures} of {of} failed" if self.failures else f"{of} of {of} kept" if of else ""


NO_GATE = GateResult(results=())
"""Of a run that asserts nothing."""


def gate(run: Run) -> GateResult:
    """Return the results of the assertions of *run*."""
    try:
        return GateResult(results=tuple(check_assertions(run)))
    except ReplayError as error:  # a plug-in that the scenario names may be gone
        return GateResult(results=(), problem=str(error))


def broken_rules(
    gate: GateResult,
    load: LoadSummary | None,
    scorers: Mapping[str, Scorer[object]],
    checks: Checks | None,
    browser: RunBrowser,
) -> tuple[BrokenRule, ...]:
    """Return all that failed of a run: assertions, objectives, checks, then yes-or-no scores."""
    columns = {row.name for row in checks.rows} if checks else set()
    columns |= {RECORDED_WORSE, RECORDED_BETTER}  # a 0 is no fault; worse turns have a page of their own
    others = {name: scorer for name, scorer in scorers.items() if name not in columns}
    return (
        *_of_assertions(gate),
        *_of_objectives(load, browser),
        *_of_checks(checks.failed if checks else ()),
        *_of_scores(others, browser),
    )


def assertion_id(place: int, group: Group) -> str:
    """Return the rule that one of the assertions is for *group*."""
    return f"assertion-{place}-{group.system}-{group.policy}"


def objective_id(level: LevelPlayed, objective: ObjectiveResult) -> str:
    """Return the rule that *objective* is for *level*."""
    return f"objective-{level.index}-{objective.key or objective.goal}"


def checks_id(name: str, group: Group | None = None, depth: int | None = None) -> str:
    """Return the rule that the checks of the column *name* pass, of all groups and depths or of one."""
    of = "" if group is None else f"-{group.system}-{group.policy}"
    return f"checks-{name}{of}{'' if depth is None else f'-depth-{depth}'}"


def _of_assertions(gate: GateResult) -> Iterable[BrokenRule]:
    for place, result in enumerate(gate.results):
        for one in result.findings:
            if one.against:
                yield BrokenRule(
                    id=assertion_id(place, one.group),
                    kind="assertion",
                    rule=result.assertion.title,
                    where=str(one.group),
                    turns=[RecordKey(id, one.group.system, one.group.policy, n) for id, n in one.against],
                )


def _of_objectives(load: LoadSummary | None, browser: RunBrowser) -> Iterable[BrokenRule]:
    for level in load.levels if load else ():
        for one in level.played.goals:
            if one.met is False:
                turns = _due(level.played, one, load.load.get("slo") or {}, browser) if load else []
                yield BrokenRule(
                    id=objective_id(level.played, one),
                    kind="objective",
                    rule=one.goal,
                    where=level.played.name,
                    turns=turns,
                )


def _due(
    level: LevelPlayed, objective: ObjectiveResult, slo: Mapping[str, float], browser: RunBrowser
) -> list[RecordKey]:
    """
    Return the turns beyond the bound; all of the level where a turn has no such number, or none is beyond it.
    """
    window, bound = (level.measured_from_s, level.measured_to_s), slo.get(objective.key)
    scorer, _, kind = objective.key.rpartition("_")
    found: list[RecordKey] = []
    if objective.key == "errors":
        found = browser.due(*window, _FAILED)
    elif (measure := objective.key.partition("_p")[0]) in _DURATIONS:
        found = browser.due(*window, f"outcome = 'answered' AND {_DURATIONS[measure]} > ?", [bound])
    elif kind == "min":
        low = "EXISTS (SELECT 1 FROM score AS s WHERE s.scorer = ? AND s.system = turn.system"
        low += " AND s.policy = turn.policy AND s.conversation = turn.conversation"
        found = browser.due(
            *window, f"{low} AND s.depth = turn.depth AND CAST(s.value AS REAL) < ?)", [scorer, bound]
        )
    return found or browser.due(*window)


def _of_checks(failed: Iterable[CheckResult]) -> Iterable[BrokenRule]:
    turns: dict[tuple[str, Group | None, int | None], list[RecordKey]] = defaultdict(list)
    for one in failed:
        group = Group(one.system, one.policy)
        turn = RecordKey(one.conversation, one.system, one.policy, one.depth)
        for name in one.columns:
            for place in ((name, None, None), (name, group, None), (name, group, one.depth)):
                turns[place].append(turn)
    for name, of, depth in sorted(turns, key=lambda key: (key[0], str(key[1] or ""), key[2] or 0)):
        places = [str(of)] if of else []
        yield BrokenRule(
            id=checks_id(name, of, depth),
            kind="some-checks" if of else "checks",
            rule=name,
            where=", ".join([*places, *([] if depth is None else [f"depth {depth}"])]),
            turns=list(dict.fromkeys(turns[name, of, depth])),
        )


def _of_scores(scorers: Mapping[str, Scorer[object]], browser: RunBrowser) -> Iterable[BrokenRule]:
    for name, scorer in scorers.items():
        if unit_of(scorer) == SHARE and (turns := browser.noes(name)):
            yield BrokenRule(id=f"score-{name}", kind="score", rule=f"{name} is 0", where="", turns=turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNumbers:
    """The report of a run and what the pages show beside it."""

    report: Report
    first_pieces: Mapping[tuple[Group, int | None], tuple[float, float]]
    """Median and 95th percentile of the time to the first piece, by depth; depth None for all."""
    gap: GapAttribution
    load: LoadSummary | None
    gate: GateResult
    broken: tuple[BrokenRule, ...]
    """Assertions, objectives, checks and yes-or-no scores that failed, with their turns."""

    @property
    def rules(self) -> Mapping[str, BrokenRule]:
        """All that failed, by id."""
        return {one.id: one for one in self.broken}


def run_numbers(run: Run, browser: RunBrowser, *, resamples: int = 1000) -> RunNumbers:
    """Compute all numbers of *run*; reads the whole run, so not for an event loop."""
    report, scorers = run.report(resamples=resamples), run.scorers()
    load, held = run.load_summary(), gate(run)
    return RunNumbers(
        report=report,
        first_pieces=_first_pieces(browser.first_pieces()),
        gap=run_attribution(browser, scorers, resamples=resamples),
        load=load,
        gate=held,
        broken=broken_rules(held, load, scorers, report.checks, browser),
    )


def _first_pieces(timed: Sequence[TimedTurn]) -> dict[tuple[Group, int | None], tuple[float, float]]:
    times: dict[tuple[Group, int | None], list[float]] = defaultdict(list)
    for turn in timed:
        for depth in (turn.depth, None):
            times[Group(turn.system, turn.policy), depth].append(turn.ttft_s)
    found = {}
    for key, values in times.items():
        p50, p95 = np.quantile(values, [0.5, 0.95])
        found[key] = float(p50), float(p95)
    return found


_log = logging.getLogger(__name__)


class BackgroundTask:
    """Tasks by what they compute; ``in`` says whether one is under way."""

    def __init__(self) -> None:
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self.failed: dict[object, str] = {}
        """Why the last try at something failed, until one succeeds."""

    def __contains__(self, what: object) -> bool:
        return what in self._tasks

    def start(self, what: object, compute: Callable[[], Awaitable[None]]) -> None:
        """Compute *what*, unless that is under way."""
        if what not in self._tasks:
            self._tasks[what] = asyncio.create_task(self._compute(what, compute))

    async def stop(self) -> None:
        """Cancel what is under way, and wait for its end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _compute(self, what: object, compute: Callable[[], Awaitable[None]]) -> None:
        try:
            await compute()
            self.failed.pop(what, None)
        except ReplayError as error:
            self.failed[what] = str(error)
        except Exception as error:  # noqa: BLE001 - the page has to say that nothing will come
            _log.exception("numbers of %s", what)
            self.failed[what] = f"the numbers could not be computed: {error}"
        finally:
            del self._tasks[what]


P = ParamSpec("P")
T = TypeVar("T")


class Computing:
    """One process that computes, one thing at a time; started when it is first needed."""

    def __init__(self) -> None:
        self._pool: LokyPool | None = None

    async def call(self, function: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
        """
        Call *function* in the process, and return its result.

        Raises:
            RunError: the process died, or the function raised it.
        """
        from loky.backend import get_context
        from loky.process_executor import BrokenProcessPool, ProcessPoolExecutor as LokyPool

        if self._pool is None:
            # Not the standard library's pool, whose processes run the caller's main module again.
            self._pool = LokyPool(1, context=get_context("loky"), initializer=_begin, initargs=(os.getpid(),))
        pool = self._pool
        try:
            return await asyncio.wrap_future(pool.submit(function, *arguments, **more))
        except BrokenProcessPool as error:
            if self._pool is pool:
                self._pool = None  # a new one for the next call
            raise RunError(
                "the process that computes numbers has died; it may have run out of memory"
            ) from error

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None


def _begin(parent: int) -> None:
    """Low priority, and no longer than the process *parent* lives."""
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)
    leave_with(parent)


def numbers_of(folder: Path, resamples: int) -> RunNumbers:
    """Return all numbers of the run in *folder*."""
    browser = RunBrowser(folder)
    try:
        return run_numbers(Run(folder), browser, resamples=resamples)
    finally:
        browser.close()


def gate_of(folder: Path) -> GateResult:
    """Return the results of the assertions of the run in *folder*."""
    return gate(Run(folder))
