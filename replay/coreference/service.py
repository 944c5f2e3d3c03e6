"""
Coreference for an event loop: worker processes, batches of whatever is waiting, and a cache.

The resolver's work never shares the loop's process (``workers`` >= 1): it would show up in the
latencies that a run measures. Workers run at lowered priority for the same reason. Requests are
batched by what is waiting when a worker becomes free, not by timers; results don't depend on it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from replay.coreference.clusters import readings_from_clusters
from replay.coreference.resolver import Cluster, Document, MentionReader, Resolver
from replay.errors import ReplayError, ResolverError
from replay.evidence import Reading
from replay.plugins import build, load

R = TypeVar("R")

LARGEST_BATCH = 64
REMEMBERED_DOCUMENTS = 8192
"""Results kept, oldest use dropped first. The gold side of every comparison, and the same answers
under several policies, are then resolved once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverChoice:
    """Which resolver to build, in every process that needs one."""

    name: str = "embedded"
    settings: Mapping[str, Any]
    folder: Path

    def build(self) -> Resolver:
        """
        Raises:
            PluginError: there is no such resolver, or it can't be imported.
            ScenarioError: its settings don't fit.
        """
        factory = load("resolvers", self.name, self.folder)
        resolver = build(factory, self.settings, folder=self.folder, key_path="drift.settings")
        if not isinstance(resolver, Resolver):
            raise ResolverError(f'"{self.name}" is not a resolver: it has no "resolve" and "signature"')
        return resolver


def read_all(resolver: Resolver, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
    """Readings from any resolver: its own where it gives them, else derived from its clusters."""
    if isinstance(resolver, MentionReader):
        return resolver.read(documents)
    found = resolver.resolve(documents)
    return [readings_from_clusters(d, clusters) for d, clusters in zip(documents, found, strict=True)]


_worker_resolver: Resolver
"""The resolver of this worker process."""


def _start_worker(choice: ResolverChoice) -> None:
    global _worker_resolver
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _worker_resolver = choice.build()


def _leave_with_parent() -> None:
    """A pool's workers hold both ends of their queue and would outlive a killed parent for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)


def _read_in_worker(documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
    return read_all(_worker_resolver, documents)


def _resolve_in_worker(documents: Sequence[Document]) -> list[list[Cluster]]:
    return _worker_resolver.resolve(documents)


class _Lane(Generic[R]):
    """One kind of question to the resolver: what waits for it, and what is already known."""

    def __init__(self, remembered: int) -> None:
        self.waiting: deque[tuple[Document, asyncio.Future[R]]] = deque()
        self._known: OrderedDict[Document, asyncio.Future[R]] = OrderedDict()
        self._remembered = remembered

    def ask(self, document: Document) -> tuple[asyncio.Future[R], bool]:
        """The future result, and whether it has to be worked for."""
        future = self._known.get(document)
        if future is not None and not (future.done() and future.exception() is not None):
            self._known.move_to_end(document)
            return future, False
        future = asyncio.get_running_loop().create_future()
        self._known[document] = future
        self.waiting.append((document, future))
        if len(self._known) > self._remembered:
            self._known.popitem(last=False)
        return future, True

    def next_batch(self) -> list[tuple[Document, asyncio.Future[R]]]:
        return [self.waiting.popleft() for _ in range(min(LARGEST_BATCH, len(self.waiting)))]


class CoreferenceService:
    """
    Asynchronous, batched, cached access to one resolver; used as an async context manager.

    ``workers`` is the number of processes; 0 keeps the resolver in this process, in one thread,
    for tests and for programs that measure no latency.
    """

    def __init__(self, choice: ResolverChoice, *, workers: int = 1) -> None:
        """
        Raises:
            PluginError, ScenarioError: the resolver can't be built.
        """
        self._choice = choice
        self._workers = workers
        self._local = choice.build()
        self._readings: _Lane[tuple[Reading, ...]] = _Lane(REMEMBERED_DOCUMENTS)
        self._clusters: _Lane[list[Cluster]] = _Lane(REMEMBERED_DOCUMENTS)
        self._work = asyncio.Semaphore(0)
        self._pool: Executor | None = None
        self._dispatchers: list[asyncio.Task[None]] = []
        self.resolved = 0
        """Documents that went through the resolver; the others were remembered."""

    @property
    def signature(self) -> str:
        """The resolver's signature."""
        return self._local.signature

    async def __aenter__(self) -> Self:
        self._pool = self._new_pool()
        count = max(1, self._workers)
        self._dispatchers = [asyncio.create_task(self._dispatch()) for _ in range(count)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._dispatchers:
            task.cancel()
        await asyncio.gather(*self._dispatchers, return_exceptions=True)
        assert self._pool is not None
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def read(self, document: Document) -> tuple[Reading, ...]:
        """
        Readings of the mentions in the document's question.

        Raises:
            ResolverError: the resolver failed on the batch that this document was in.
        """
        return await self._ask(self._readings, document)

    async def clusters(self, document: Document) -> list[Cluster]:
        """
        All clusters of the document.

        Raises:
            ResolverError: the resolver failed on the batch that this document was in.
        """
        return await self._ask(self._clusters, document)

    async def _ask(self, lane: _Lane[R], document: Document) -> R:
        future, new = lane.ask(document)
        if new:
            self._work.release()
        # Others may wait for the same document: a cancelled caller must not cancel their result.
        return await asyncio.shield(future)

    def _new_pool(self) -> Executor:
        if self._workers == 0:
            return ThreadPoolExecutor(1, "coreference")
        return ProcessPoolExecutor(
            self._workers, get_context("spawn"), initializer=_start_worker, initargs=(self._choice,)
        )

    async def _dispatch(self) -> None:
        while True:
            await self._work.acquire()
            await self._serve(self._readings, _read_in_worker, lambda ds: read_all(self._local, ds))
            await self._serve(self._clusters, _resolve_in_worker, self._local.resolve)

    async def _serve(
        self,
        lane: _Lane[R],
        in_worker: Callable[[Sequence[Document]], list[R]],
        in_thread: Callable[[Sequence[Document]], list[R]],
    ) -> None:
        batch = lane.next_batch()
        if not batch:
            return
        documents = [document for document, _ in batch]
        try:
            results = await self._compute(in_worker if self._workers else in_thread, documents)
        except Exception as error:  # noqa: BLE001 - whatever a resolver raises, someone waits for the answer
            failure = error if isinstance(error, ReplayError) else _failure(error)
            for _, future in batch:
                future.set_exception(failure)
                future.exception()  # whoever still waits gets it; nobody waiting is no news
            return
        self.resolved += len(batch)
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)

    async def _compute(
        self, function: Callable[[Sequence[Document]], list[R]], documents: Sequence[Document]
    ) -> list[R]:
        loop = asyncio.get_running_loop()
        pool = self._pool
        assert pool is not None
        try:
            return await loop.run_in_executor(pool, function, documents)
        except BrokenProcessPool:
            # A worker died (out of memory, a signal): one new pool, one more try.
            if self._pool is pool:
                pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._new_pool()
            return await loop.run_in_executor(self._pool, function, documents)


def _failure(error: Exception) -> ResolverError:
    if isinstance(error, BrokenProcessPool):
        return ResolverError(
            "the coreference worker died twice on the same questions; it may have run out of memory "
            "(fewer nlp_workers need less)"
        )
    return ResolverError(f"the coreference resolver failed: {type(error).__name__}: {error}")
