"""
Coreference for an event loop: worker processes, batches of whatever is waiting, and a cache.

The resolver's work never shares the loop's process (``workers`` >= 1): it would show up in the
latencies that a run measures. Workers run at lowered priority for the same reason. Requests are
batched by what is waiting when a worker becomes free, not by timers; results don't depend on it.

Readings are compared where they are made: a pair of documents goes to a worker, and its verdict comes back.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from loky.backend import get_context
from loky.process_executor import ProcessPoolExecutor as LokyPool

from replay.core.drift_evidence import Drift, Reading, SemanticSimilarity
from replay.core.errors import ReadingError, ReplayError, ResolverError
from replay.core.logs import tell
from replay.coreference.lane import Lane
from replay.coreference.llm import LlmResolver, asked_resolver
from replay.coreference.resolver import Cluster, Document, Resolver
from replay.coreference.semantic import SemanticEncoder, history_text
from replay.coreference.worker import (
    CLUSTERS,
    DOCUMENTS,
    DRIFTS,
    READINGS,
    DocumentAsked,
    DriftAsked,
    ResolverChoice,
    Worker,
    answered,
    start_worker,
    work,
)

__all__ = ["CoreferenceService", "ResolverChoice"]

S = TypeVar("S", bound=Hashable)
R = TypeVar("R")
T = TypeVar("T")

LARGEST_BATCH = 64
TIMEOUT_S = 300.0
"""For a batch. A large model is loaded, and perhaps downloaded, with the first one."""


class CoreferenceService:
    """
    Asynchronous, batched, cached access to one resolver; used as an async context manager.

    ``workers`` is the number of processes; 0 keeps the resolver in this process, in one thread,
    for tests and for programs that measure no latency.
    """

    def __init__(
        self,
        choice: ResolverChoice,
        *,
        workers: int = 1,
        encoder: SemanticEncoder | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """
        *encoder* is for ``semantic``, which is not to be called without one. A worker process that takes
        longer than *timeout_s* for a batch is ended and replaced; a thread can't be.

        Raises:
            PluginError, ResolverError, ScenarioError: the resolver can't be built.
        """
        self.asked: LlmResolver | None = asked_resolver(choice)
        """The resolver, where it asks a model: workers then serve ``semantic`` alone."""
        if self.asked is not None:
            choice = ResolverChoice(settings={}, folder=choice.folder)
        self._choice = choice
        self._workers = workers
        self._timeout_s = timeout_s
        self.encoder = encoder
        self._local = Worker(choice, encoder)
        self._readings: Lane[DocumentAsked, tuple[Reading, ...]] = Lane("readings", READINGS.unpack)
        self._clusters: Lane[DocumentAsked, list[Cluster]] = Lane("clusters", CLUSTERS.unpack)
        self._drifts: Lane[DriftAsked, Drift] = Lane("drifts", DRIFTS.unpack)
        self._similarities: Lane[tuple[str, str], float] = Lane("similarities", float)
        self._pool: Executor | None = None
        self._serving: set[asyncio.Task[None]] = set()
        """At most one for each worker."""
        self.resolved: int = 0
        """Documents that had to be resolved; the others were remembered."""

    @property
    def resolver(self) -> Resolver | LlmResolver:
        """This process's own."""
        return self.asked or self._local.resolver

    @property
    def signature(self) -> str:
        """The resolver's signature."""
        return self.resolver.signature

    async def __aenter__(self) -> Self:
        self._pool = self._new_pool()
        if self.asked is not None:
            await self.asked.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        serving = tuple(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        _end(self._pool)
        if self.asked is not None:
            await self.asked.__aexit__(kind, error, trace)

    async def read(self, document: Document, *, gold: bool = False) -> tuple[Reading, ...]:
        """
        Readings of the mentions in the document's question.

        *gold* says that the document depends on the data set alone: where resolving is slow, the
        result is kept on disk and found there by later runs.

        Raises:
            ResolverError: the resolver failed on the batch that this document was in.
            ReadingError: two workers died of that batch or gave no answer to it in time; with
                RunStoppedError also as for ``LlmResolver.read``, where a model is asked.
        """
        if self.asked is not None:
            return await self.asked.read(document)
        return await self._ask(self._readings, (DOCUMENTS.pack(document), gold))

    async def clusters(self, document: Document, *, gold: bool = False) -> list[Cluster]:
        """
        All clusters of the document; *gold* as in ``read``.

        Raises:
            ResolverError: the resolver failed on the batch that this document was in, or is a model.
            ReadingError: as for ``read``.
        """
        if self.asked is not None:
            raise ResolverError("a model gives no clusters, so the published rule can't be had of it")
        return await self._ask(self._clusters, (DOCUMENTS.pack(document), gold))

    async def drift(
        self,
        gold: Document,
        predicted: Document,
        *,
        mode: Literal["strict", "hard"] = "strict",
        threshold: float | None = None,
    ) -> Drift:
        """
        The verdict of the rule *mode* on one question, read in the *gold* and in the *predicted* document.

        Equal documents are read once, and their verdict is "valid" by law. *gold* depends on the data set
        alone and is kept as in ``read``. *threshold* is that of ``strict``; None is the rule's own.

        Raises:
            ResolverError: the resolver failed on the batch that this pair was in.
            ReadingError, RunStoppedError: as for ``read`` and ``LlmResolver.compare``; the verdict of
                a model, where one is asked, goes by no other rule.
        """
        if self.asked is not None:
            return await self.asked.compare(gold, predicted)
        pair = (DOCUMENTS.pack(gold), DOCUMENTS.pack(predicted), mode, threshold)
        return await self._ask(self._drifts, pair)

    async def semantic(
        self, gold: Document, predicted: Document, answers: tuple[str, str] | None
    ) -> SemanticSimilarity:
        """
        How alike the texts of the two documents are.

        *answers* are the gold and the system's own to the turn before the question; None where one
        of them is missing.

        Raises:
            ResolverError: the sentence encoder can't be loaded, or failed.
            ReadingError: as for ``read``.
        """
        question = gold.question
        pairs = [answers or ("", ""), (question, history_text(gold)), (question, history_text(predicted))]
        found = await asyncio.gather(*(self._similarity(first, second) for first, second in pairs))
        return SemanticSimilarity(answers=found[0], question_gold=found[1], question_predicted=found[2])

    async def _similarity(self, first: str, second: str) -> float | None:
        if not first.strip() or not second.strip():
            return None
        return await self._ask(self._similarities, (first, second))

    async def _ask(self, lane: Lane[S, R], sent: S) -> R:
        answer = lane.ask(sent)
        if not asyncio.isfuture(answer):  # by what it can do: nest_asyncio puts another class there
            return answer
        if lane.waiting and len(self._serving) < max(1, self._workers):
            self._serving.add(asyncio.create_task(self._serve_all()))
        # Others may wait for the same document: a cancelled caller must not cancel their result.
        return await asyncio.shield(answer)

    def _new_pool(self) -> Executor:
        if self._workers == 0:
            return ThreadPoolExecutor(1, "coreference")
        if multiprocessing.current_process().daemon:
            why = "this process is itself a worker (of a multiprocessing.Pool?), which Python lets start none"
            raise ResolverError(f"coreference workers can't be started: {why}; set drift.nlp_workers to 0")
        # Not the standard library's pool: its workers would run the caller's main module again, and so
        # would start anew whatever a script without an `if __name__ == "__main__"` does.
        pool: Executor = LokyPool(
            self._workers,
            context=get_context("loky"),
            initializer=start_worker,
            initargs=(self._choice, self.encoder, os.getpid()),
        )
        return pool

    async def _serve_all(self) -> None:
        """Keep a worker busy until nothing waits."""
        lanes: list[Lane[Any, Any]] = [self._drifts, self._readings, self._clusters, self._similarities]
        try:
            while any(lane.waiting for lane in lanes):
                for lane in lanes:
                    if lane.waiting:
                        await self._serve(lane)
        finally:
            # Here, not when the task is done: while it counts, whoever asks begins no other one.
            self._serving -= {asyncio.current_task()}

    async def _serve(self, lane: Lane[Any, Any]) -> None:
        batch = [lane.waiting.popleft() for _ in range(min(LARGEST_BATCH, len(lane.waiting)))]
        try:
            answers, resolved = await self._compute(lane.task, batch)
            lane.answer(batch, answers)
        except Exception as error:  # noqa: BLE001 - whatever a resolver raises, someone waits for the answer
            lane.fail(batch, error if isinstance(error, ReplayError) else _failure(error))
        else:
            self.resolved += resolved

    async def _compute(self, task: str, batch: Sequence[Any]) -> tuple[list[Any], int]:
        """
        Raises:
            ReadingError: two workers died of *batch*, or gave no answer to it in time.
        """
        if not self._workers:
            return await _in_pool(self._pool, partial(answered, self._local, task), batch)
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
                tell(logging.WARNING, "worker restarted", what="coreference", asked=len(batch))
                _end(pool)
                self._pool = self._new_pool()
                failures += 1
                if failures == 2:
                    raise ReadingError(self._without_answer(error)) from error

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
    """Nobody waits for what still runs there."""
    if isinstance(pool, LokyPool):
        pool.shutdown(wait=True, kill_workers=True)
    elif pool is not None:
        pool.shutdown(wait=True, cancel_futures=True)


def _failure(error: Exception) -> ResolverError:
    return ResolverError(f"the coreference resolver failed: {type(error).__name__}: {error}")
