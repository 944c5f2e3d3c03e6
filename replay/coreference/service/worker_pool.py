"""
Worker processes that answer batches, replaced where they die or hang; or one thread of this process.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, TypeVar

from loky.backend import get_context
from loky.process_executor import ProcessPoolExecutor as LokyPool

from replay.core.errors import ReadingError, ResolverError
from replay.core.logs import log_event
from replay.coreference.service.semantic import SemanticEncoder
from replay.coreference.service.worker import ResolverChoice, Worker, answer_batch, start_worker, work

T = TypeVar("T")


class WorkerPool:
    """*workers* processes with a resolver each; 0 is a thread that has the one of this process."""

    def __init__(
        self,
        choice: ResolverChoice,
        encoder: SemanticEncoder | None,
        local: Worker,
        *,
        workers: int,
        timeout_s: float,
    ) -> None:
        """*local* is this process's own; the rest as for ``CoreferenceService``."""
        self._choice = choice
        self._encoder = encoder
        self._local = local
        self._workers = workers
        self._timeout_s = timeout_s
        self._pool: Executor | None = None

    def start(self) -> None:
        """
        Be ready for batches; processes start with the first one.

        Raises:
            ResolverError: this process may start none.
        """
        self._pool = self._new_pool()

    def end(self) -> None:
        """End all processes, whatever they are at."""
        _end(self._pool)

    async def compute(self, task: str, batch: Sequence[Any]) -> tuple[list[Any], int]:
        """
        Return what a worker's method *task* answers to *batch*, and how many documents it resolved for that.

        Raises:
            ReadingError: two workers died of *batch*, or gave no answer to it in time.
        """
        if not self._workers:
            return await _in_pool(self._pool, partial(answer_batch, self._local, task), batch)
        failures = 0
        while True:
            pool = self._pool
            try:
                async with asyncio.timeout(self._timeout_s) as deadline:
                    return await _in_pool(pool, partial(work, task), batch)
            except (BrokenProcessPool, TimeoutError) as error:
                if isinstance(error, TimeoutError) and not deadline.expired():
                    raise  # the resolver's own
                if self._pool is not pool:
                    continue  # another batch's worker took ours with it
                # Died (out of memory, a signal), stopped or stuck: a new pool, and one more try.
                log_event(logging.WARNING, "worker restarted", what="coreference", asked=len(batch))
                _end(pool)
                self._pool = self._new_pool()
                failures += 1
                if failures == 2:
                    raise ReadingError(self._without_answer(error)) from error

    def _new_pool(self) -> Executor:
        if self._workers == 0:
            return ThreadPoolExecutor(1, "coreference")
        if multiprocessing.current_process().daemon:
            why = "this process is itself a worker (of a multiprocessing.Pool?), which Python lets start none"
            raise ResolverError(f"coreference workers can't be started: {why}; set drift.nlp_workers to 0")
        # Not the standard library's pool: its workers would run the caller's main module again, and so
        # would start again whatever a script without an `if __name__ == "__main__"` does.
        try:
            pool: Executor = LokyPool(
                self._workers,
                context=get_context("loky"),
                initializer=start_worker,
                initargs=(self._choice, self._encoder, os.getpid()),
            )
        except OSError as error:
            raise ResolverError(
                f"coreference workers can't be started: {error}; give this process more (ulimit -n), or set "
                "drift.nlp_workers to 0"
            ) from error
        return pool

    def _without_answer(self, failure: Exception) -> str:
        if isinstance(failure, TimeoutError):
            return (
                f"no coreference worker answered within {self._timeout_s:g} s, twice: a larger "
                "drift.timeout_s gives them more time"
            )
        return (
            "the coreference worker died twice on it: it may have run out of memory (fewer drift.nlp_workers "
            "need less)"
        )


async def _in_pool(pool: Executor | None, function: Callable[..., T], batch: Sequence[Any]) -> T:
    assert pool is not None
    future = asyncio.get_running_loop().run_in_executor(pool, function, batch)
    # Nobody waits for what comes of it after a deadline or the end of the run.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    # Shielded, since loky's thread fails over futures that are cancelled where it kills its workers.
    return await asyncio.shield(future)


def _end(pool: Executor | None) -> None:
    """Shut *pool* down, killing or cancelling what is left to do there."""
    if isinstance(pool, LokyPool):
        pool.shutdown(wait=True, kill_workers=True)
    elif pool is not None:
        pool.shutdown(wait=True, cancel_futures=True)
