"""
Coreference for an event loop: worker processes, batches of whatever is waiting, and a cache.

The resolver's work never shares the loop's process (``workers`` >= 1): it would show up in the
latencies that a run measures. Workers run at lowered priority for the same reason. Requests are
batched by what is waiting when a worker becomes free, not by timers; results don't depend on it. What nothing
waits for (``out_of_the_way``) comes when nothing else is asked.

Readings are compared where they are made: a pair of documents goes to a worker, and its verdict comes back.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

from replay.core.drift_evidence import Drift, Reading, SemanticSimilarity
from replay.core.errors import ReadingError, ReplayError, ResolverError
from replay.coreference.reading.resolver import Cluster, Document, Resolver
from replay.coreference.service.llm import LlmResolver, asked_resolver
from replay.coreference.service.semantic import SemanticEncoder, history_text
from replay.coreference.service.worker import (
    CLUSTERS,
    DOCUMENTS,
    DRIFTS,
    READINGS,
    DocumentAsked,
    DriftAsked,
    ResolverChoice,
    Worker,
)
from replay.coreference.service.worker_pool import WorkerPool

__all__ = ["CoreferenceService", "ResolverChoice", "out_of_the_way"]

S = TypeVar("S", bound=Hashable)
R = TypeVar("R")

LARGEST_BATCH = 64
"""Of a resolver that doesn't say itself how many documents it takes at a time (``largest_batch``)."""
TIMEOUT_S = 300.0
"""For a batch. A large model is loaded, and perhaps downloaded, with the first one."""
REMEMBERED = 4096
"""Results of each kind kept, oldest use dropped first: the same answers come under several policies, and of
several systems."""

_LATER = ContextVar("later", default=False)


@contextmanager
def out_of_the_way() -> Iterator[None]:
    """Let what is asked within, by this task or those that it starts, come after all that others ask."""
    before = _LATER.set(True)
    try:
        yield
    finally:
        _LATER.reset(before)


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
        self._workers = workers
        self.encoder = encoder
        self._local = Worker(choice, encoder)
        self._readings: BatchQueue[DocumentAsked, tuple[Reading, ...]] = BatchQueue(
            "readings", READINGS.unpack
        )
        self._clusters: BatchQueue[DocumentAsked, list[Cluster]] = BatchQueue("clusters", CLUSTERS.unpack)
        self._drifts: BatchQueue[DriftAsked, Drift] = BatchQueue("drifts", DRIFTS.unpack)
        self._similarities: BatchQueue[tuple[str, str], float] = BatchQueue("similarities", float)
        self._largest_batch: int = getattr(self._local.resolver, "largest_batch", LARGEST_BATCH)
        self._pool = WorkerPool(choice, encoder, self._local, workers=workers, timeout_s=timeout_s)
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
        self._pool.start()
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
        self._pool.end()
        if self.asked is not None:
            await self.asked.__aexit__(kind, error, trace)

    async def read(self, document: Document, *, gold: bool = False) -> tuple[Reading, ...]:
        """
        Return the readings of the mentions in the document's question.

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

    def read_ahead(self, recorded: Document) -> None:
        """
        Read the *recorded* history of a question that will be asked about soon, at low priority.

        So that it is known once the system has answered; whoever asks out of the way is in no hurry.
        """
        if self.asked is None and not _LATER.get():
            self._readings.ask((DOCUMENTS.pack(recorded), True), later=True)
            self._see_to(self._readings)

    async def clusters(self, document: Document, *, gold: bool = False) -> list[Cluster]:
        """
        Return all clusters of the document; *gold* as in ``read``.

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
        Return the verdict of the rule *mode* on one question, read in both documents.

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
        Return the similarity of the two documents' texts.

        Args:
            gold: The question in the recorded conversation.
            predicted: The question in the system's own history.
            answers: The gold answer and the system's own to the turn before the question; None if one of them
                is missing.

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

    async def _ask(self, lane: BatchQueue[S, R], sent: S) -> R:
        answer = lane.ask(sent, later=_LATER.get())
        if not asyncio.isfuture(answer):  # by what it can do: nest_asyncio puts another class there
            return answer
        self._see_to(lane)
        # Others may wait for the same document: a cancelled caller must not cancel their result.
        return await asyncio.shield(answer)

    def _see_to(self, lane: BatchQueue[Any, Any]) -> None:
        """Let a worker that is free serve *lane*, if something waits there."""
        if (lane.waiting or lane.later) and len(self._serving) < max(1, self._workers):
            self._serving.add(asyncio.create_task(self._serve_all()))

    async def _serve_all(self) -> None:
        """Keep a worker busy until nothing waits."""
        lanes: list[BatchQueue[Any, Any]] = [self._drifts, self._readings, self._clusters, self._similarities]
        try:
            while True:
                if urgent := [lane for lane in lanes if lane.waiting]:
                    for lane in urgent:
                        await self._serve(lane, lane.waiting)
                elif later := [lane for lane in lanes if lane.later]:
                    await self._serve(later[0], later[0].later)
                else:
                    return
        finally:
            # Here, not when the task is done: while it counts, whoever asks begins no other one.
            self._serving -= {asyncio.current_task()}

    async def _serve(self, lane: BatchQueue[Any, Any], waiting: deque[Any]) -> None:
        await self._answer(lane, [waiting.popleft() for _ in range(min(self._largest_batch, len(waiting)))])

    async def _answer(self, lane: BatchQueue[Any, Any], batch: Sequence[Any]) -> None:
        try:
            answers, resolved = await self._pool.compute(lane.task, batch)
            lane.answer(batch, answers)
        except ReadingError as error:
            if len(batch) == 1:
                lane.fail(batch, error)
            for one in batch if len(batch) > 1 else ():  # only those of which workers die
                await self._answer(lane, [one])
        except Exception as error:  # noqa: BLE001 - whatever a resolver raises, someone waits for the answer
            lane.fail(batch, error if isinstance(error, ReplayError) else _failure(error))
        else:
            self.resolved += resolved


def _failure(error: Exception) -> ResolverError:
    return ResolverError(f"the coreference resolver failed: {type(error).__name__}: {error}")


class BatchQueue(Generic[S, R]):
    """One kind of question to the workers: what waits for it, and what is already known."""

    def __init__(self, task: str, unpack: Callable[[Any], R]) -> None:
        self.task = task
        """The worker's method."""
        self.unpack = unpack
        """Makes the result of what the worker answers."""
        self.waiting: deque[S] = deque()
        self.later: deque[S] = deque()
        """What waits until nothing else does."""
        self._pending: dict[S, asyncio.Future[R]] = {}
        # As the worker packed them: thousands of readings would be looked through by every collection.
        self._known: OrderedDict[S, Any] = OrderedDict()

    def ask(self, sent: S, *, later: bool = False) -> asyncio.Future[R] | R:
        """Return what the workers answer to *sent*, or the future of it; *later* lets others go first."""
        if sent in self._known:
            self._known.move_to_end(sent)
            return self.unpack(self._known[sent])
        future = self._pending.get(sent)
        if future is None:
            future = self._pending[sent] = asyncio.get_running_loop().create_future()
            (self.later if later else self.waiting).append(sent)
        return future

    def answer(self, batch: Sequence[S], answers: Sequence[Any]) -> None:
        """Give the workers' *answers* to *batch* to whoever waits for them."""
        for sent, result in zip(batch, [self.unpack(answer) for answer in answers], strict=True):
            self._pending.pop(sent).set_result(result)
        self._known |= zip(batch, answers, strict=True)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def fail(self, batch: Sequence[S], error: Exception) -> None:
        """Let *error* be the answer, for now: who asks again is not told of it."""
        for sent in batch:
            future = self._pending.pop(sent)
            future.set_exception(error)
            future.exception()  # whoever still waits gets it; nobody waiting is no news
