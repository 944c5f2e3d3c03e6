"""
The long work of the pages: each thing by one task at a time, failures kept; numbers in a process of its own.

Computing the numbers of a large run takes seconds. In a thread it would keep taking the interpreter away
from whoever is looking at a page; and a run that goes on beside it on this machine must not be slowed down
in what it measures, so the process has low priority.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from loky.backend import get_context
from loky.process_executor import BrokenProcessPool, ProcessPoolExecutor as LokyPool

from replay.core.errors import ReplayError, RunError
from replay.core.lifetimes import leave_with
from replay.results.run import Run
from replay.store.page_queries import RunBrowser
from replay.viewer.compare_view import CompareView, compare_view
from replay.viewer.run_numbers import GateResult, RunNumbers, gate, run_numbers

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


def comparisons_of(runs: Sequence[tuple[str, Path]]) -> list[CompareView]:
    """Return each of *runs*, by name and folder, against the first."""
    scored = [Run(folder).scored_run(name) for name, folder in runs]
    return [compare_view(scored[0], other) for other in scored[1:]]
