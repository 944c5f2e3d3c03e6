"""
An actor of Ray's on a node: it plays as a worker of one machine does, and its records are fetched.

The program fetches batch after batch, and the next fetch says that the batch before is in the run's
database. Who plays waits for that before the next question. So an actor whose program or network is gone asks
at most the questions that are under way, and nothing has to be kept on a node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from replay.core.adapter import RawReply
from replay.core.asking.limits import LocalTokenBucket, RateLimit
from replay.core.errors import AdapterError, RunStoppedError
from replay.core.load_record import ClockOffset
from replay.core.logs import Told, forwarding_logs
from replay.core.record import Step, TurnPlace, TurnRecord
from replay.play.event_loop import first_failure, gather_or_cancel
from replay.play.load.level import share_of
from replay.store.schema import from_json, record_row
from replay.store.store import now
from replay.workers.cluster.job_files import Files, Variables, unpacked_job_files
from replay.workers.job import WorkerJob
from replay.workers.process import WorkerFailure

TOGETHER_S = 0.005
"""A call costs a millisecond of both ends: what comes within this time goes with one."""


class RecordBatch(NamedTuple):
    """All that came since the last one."""

    items: Sequence[tuple[str, Any]]
    """In their order: ``row``, ``step``, ``raw``, ``event``, ``answered``, ``failed``, ``counted``,
    ``logged`` or ``flushed``, and what it is."""
    is_last: bool


class Outbox:
    """Where an actor's records go, and its circuit breaker: the program counts the failures of all actors."""

    stop: RunStoppedError | None = None
    """Never set: where the program stops the run, nothing more is acknowledged."""

    def __init__(self) -> None:
        self._items: list[tuple[str, Any]] = []
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        """Who waits until the program has an item of that kind."""
        self._fetched: list[tuple[str, asyncio.Future[None]]] = []
        """Those whose items are in the batch that was fetched last."""
        self._answered: set[str] = set()
        """Endpoints that the items here say have answered."""
        self._has_some = asyncio.Event()
        self._is_closed = False

    def write(self, record: TurnRecord) -> asyncio.Future[None]:
        """Send *record*; the future is done when it is durable."""
        return self._put("row", record_row(record))

    def write_step(self, place: TurnPlace, number: int, asked: str, step: Step) -> asyncio.Future[None]:
        """Send *step*, as ``RunStore.write_step`` stores it."""
        return self._put("step", (place, number, asked, step))

    def add_raw(self, reply: RawReply, *, most_bytes: int) -> None:
        """Send *reply*, which the program cuts; durable with the record that is written next."""
        self._items.append(("raw", replace(reply, asked_at=reply.asked_at or now())))

    def add_event(self, kind: str, data: Any) -> None:
        """Send an event, as ``RunStore.add_event`` stores it."""
        self._put("event", (kind, data))

    def add_count(self, counted: Any) -> None:
        """Send what was *counted* of turns."""
        self._put("counted", counted)

    def add_log(self, told: Told) -> None:
        """Send what was logged."""
        self._put("logged", told)

    def answered(self, name: str) -> None:
        """Note that the endpoint *name* answered."""
        if name not in self._answered:
            self._answered.add(name)
            self._items.append(("answered", name))

    async def failed(self, name: str, error: AdapterError) -> None:
        """Send the failure; return once its record is wanted, and never where the run is to stop without."""
        self._answered.discard(name)
        await self._put("failed", (name, str(error), error.status))

    async def flush(self) -> None:
        """Return when all that was sent is durable."""
        await self._put("flushed", None)

    def _put(self, kind: str, content: Any) -> asyncio.Future[None]:
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._items.append((kind, content))
        self._waiting.append((kind, acknowledged))
        self._has_some.set()
        return acknowledged

    async def fetch(self, *, is_stopping: bool) -> RecordBatch:
        """
        Return what has come, as soon as there is something; what was fetched before is durable.

        Where the run *is_stopping*, those who wait go on only to record a failure.
        """
        for kind, acknowledged in self._fetched:
            if (kind == "failed" or not is_stopping) and not acknowledged.done():
                acknowledged.set_result(None)
        self._fetched = []
        await self._has_some.wait()
        if not self._is_closed:
            await asyncio.sleep(TOGETHER_S)
            self._has_some.clear()
        batch = RecordBatch(self._items, self._is_closed)
        self._items, self._fetched, self._waiting = [], self._waiting, []
        self._answered.clear()
        return batch

    def close(self) -> None:
        """Close the input: nothing more comes."""
        self._is_closed = True
        self._has_some.set()


class Work(Protocol):
    """What an actor does."""

    limits: Mapping[str, RateLimit]

    def play(self, *arguments: Any) -> Coroutine[Any, Any, Any]:
        """Play what the arguments say."""
        ...

    def report(self) -> Any:
        """Return what is known once all is played and closed."""
        ...


Inputs = Mapping[str, list[Any]]
"""What came by ``ClusterActor.add_inputs``, by name."""
OpenWork = Callable[[WorkerJob, Outbox, Inputs], AbstractAsyncContextManager[Work]]
"""``open_work`` of a module: what does a job, for as long as the block lasts."""


class ClusterActor:
    """One such actor; its methods are called by the program that plays the run, which nobody calls back."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self._inputs: dict[str, list[Any]] = {}
        self._work: Work | None = None
        self._working: asyncio.Task[None] | None = None
        self._plays: set[asyncio.Task[Any]] = set()
        self._is_over = asyncio.Event()

    async def clock(self) -> float:
        """Return a reading of ``perf_counter`` here."""
        return perf_counter()

    async def add_inputs(self, name: str, kind: Any, text: str) -> None:
        """Take one slice of what a load run has read, for ``begin``: a list of that *kind* as JSON."""
        self._inputs.setdefault(name, []).extend(from_json(text, kind))

    async def begin(
        self, module: str, job: WorkerJob, log_level: int, files: Files, variables: Variables
    ) -> None:
        """
        Prepare for the *job*, by ``open_work`` in *module*, with *files* and *variables*.

        No rate limit lets anything through before ``set_share``.

        Raises:
            ReplayError: it can't be done here.
        """
        begun = asyncio.Event()
        with _raise_as_ours():
            working = self._keep_open(begun, module, job, log_level, files, variables)
            self._working = asyncio.create_task(working)
            waiting = asyncio.create_task(begun.wait())
            await asyncio.wait([waiting, self._working], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if self._working.done():
                self._working.result()

    async def _keep_open(
        self,
        begun: asyncio.Event,
        module: str,
        job: WorkerJob,
        log_level: int,
        files: Files,
        variables: Variables,
    ) -> None:
        """Do the job until it is over, in one task from beginning to end."""
        loop = asyncio.get_running_loop()

        def send(told: Told) -> None:
            loop.call_soon_threadsafe(self._outbox.add_log, told)

        open_work: OpenWork = import_module(module).open_work
        with (
            forwarding_logs(log_level, send),
            unpacked_job_files(files, variables) as folder,
        ):
            async with open_work(replace(job, folder=str(folder)), self._outbox, self._inputs) as self._work:
                for limit in self._work.limits.values():
                    limit.tokens = LocalTokenBucket(0, limit.per_s)
                begun.set()
                try:
                    await self._is_over.wait()
                finally:
                    for task in self._plays:
                        task.cancel()
                    if self._plays:
                        await asyncio.wait(self._plays)

    async def set_share(self, index: int, among: int) -> None:
        """Have the share of every rate limit of the one of *index* among so many; return when that holds."""
        assert self._work is not None
        limits = self._work.limits.values()
        await gather_or_cancel(limit.tokens.resize(share_of(limit.asks, index, among)) for limit in limits)

    async def play(self, *arguments: Any) -> Any:
        """
        Play what ``Work.play`` does of *arguments*; return what came of it, once all its records are durable.

        It never returns where it was under way when the actor was told to end.

        Raises:
            ReplayError: the run could not go on.
        """
        assert self._work is not None
        task = asyncio.create_task(self._work.play(*arguments))
        self._plays.add(task)
        task.add_done_callback(self._plays.discard)
        try:
            with _raise_as_ours():
                return await task
        except asyncio.CancelledError:
            await asyncio.Event().wait()  # Ray would print that the call was cancelled

    async def records(self, is_stopping: bool) -> RecordBatch:
        """Return the next batch, once there is one; all batches before it are in the run's database."""
        return await self._outbox.fetch(is_stopping=is_stopping)

    async def end(self) -> Any:
        """Cancel what is under way, leave nothing here, and return the report; a last batch follows."""
        self._is_over.set()
        try:
            if self._working is not None:
                with _raise_as_ours():
                    await self._working
        finally:
            self._outbox.close()
        return self._work.report() if self._work is not None else None


@contextmanager
def _raise_as_ours() -> Iterator[None]:
    """Raise what another process can, in place of what it may have no class for."""
    try:
        with first_failure():
            yield
    except Exception as error:  # noqa: BLE001 - the caller gets it
        raise WorkerFailure.of(error).error from None


EXCHANGES = 8
"""Of readings, when clocks are compared."""


async def clock_offset(
    read_there: Callable[[], Awaitable[float]],
    *,
    clock: Callable[[], float] = perf_counter,
    exchanges: int = EXCHANGES,
) -> ClockOffset:
    """
    Return the offset of a remote clock to *clock*, from the exchange with the least uncertainty.

    What is wrong with an exchange can be no more than half of its round trip (Cristian, *Probabilistic clock
    synchronization*, Distributed Computing 3, 1989; NTP chooses among its samples alike: RFC 5905, section
    10). Both clocks are monotonic: what they show says nothing by itself, and no time service sets them.

    Args:
        read_there: Reads the remote clock, in seconds; its exceptions are passed on.
        clock: The local clock, in seconds.
        exchanges: How often the clocks are compared.
    """
    found = [await _exchange(read_there, clock) for _ in range(exchanges)]
    return min(found, key=lambda one: one.uncertainty_s)


async def _exchange(read_there: Callable[[], Awaitable[float]], clock: Callable[[], float]) -> ClockOffset:
    asked = clock()
    there = await read_there()
    half_s = (clock() - asked) / 2
    return ClockOffset(offset_s=there - (asked + half_s), uncertainty_s=half_s)
