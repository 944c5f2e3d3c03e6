"""
What asks run on: the event loop (for a program of ours uvloop's where it is installed, else asyncio's), tasks
side by side with what to raise when they fail, and how late the loop is while systems are asked.

A client whose own loop lags reports its own slowness as the system's. So the lag, the time between when a
timer was due and when it was served, is measured in every run, for each system while it is being asked, as
far as it reaches into an ask. What is late at other times, as when conversations are read, disturbs no
latency. A system in this process has no wire at which its replies could be late: of those whose replies
nobody timed there, nothing is said.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType
from typing import Any, Self, TypeVar

from replay.core.adapter import ChatReply, ChatRequest, Session
from replay.core.lifetimes import cancel_and_wait
from replay.core.load_record import LagSummary

T = TypeVar("T")


def run_on_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run *main* like ``asyncio.run``, on the fastest event loop available."""
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        factory = None
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def run_for_library(main: Coroutine[Any, Any, T]) -> T:
    """
    Return the result of *main*, for a library call in a thread without a running event loop.

    It runs on a new loop of the current policy, as with ``asyncio.run``, but the event loop that the program
    has set stays set.
    """
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(main)


@contextmanager
def first_failure() -> Iterator[None]:
    """
    Raise the first failure of the task group in the block, instead of an exception group.

    What went wrong first is what the caller can act on; the rest hangs on as its context, or as its cause
    where it has none of its own.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        first = _first(group)
        raise first from first.__cause__ or group


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


async def gather_or_cancel(parts: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of *parts*, run concurrently; the first failure or cancellation cancels the rest."""
    with first_failure():
        async with asyncio.TaskGroup() as tasks:
            begun = [tasks.create_task(part) for part in parts]
    return [task.result() for task in begun]


LAG_INTERVAL_S = 0.02
LAGS_KEPT = 50_000
"""Lags kept of a system; beyond that every second one of each is dropped and the interval doubled, so memory
stays flat."""


def worst(summaries: Iterable[LagSummary]) -> LagSummary | None:
    """Return the summary with the most lag, since quantiles can't be added; None for none."""
    return max(summaries, key=lambda lag: (lag.p99_s, lag.max_s), default=None)


class InFlightRequests:
    """When which systems are asked."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._asks: dict[str, SystemAsks] = {}
        self.timed: set[str] = set()
        """Systems with a reply that was timed at the wire."""

    def watch(self, system: str, session: Session) -> Session:
        """Return *session* of *system* wrapped so that its asks are counted here."""
        return _WatchedSession(self, system, self.of(system), session)

    def of(self, system: str) -> SystemAsks:
        """Return the asks of *system*."""
        asks = self._asks.get(system)
        if asks is None:
            asks = self._asks[system] = SystemAsks(self._clock)
        return asks

    def in_the_last(self, seconds: float) -> Iterator[tuple[str, float]]:
        """Yield each system asked within the last *seconds*, and for how many of them."""
        now = self._clock()
        since = now - seconds
        for system, asks in self._asks.items():
            # A lag's last ask is over, as a rule, when the lag is noticed: its reply had long been there.
            overlaps = [ended - max(begun, since) for begun, ended in asks.before if ended > since]
            if asks.now:
                overlaps.append(now - max(asks.begun, since))
            if overlaps:
                yield system, sum(overlaps)


@dataclass(slots=True)
class SystemAsks:
    """When one system was asked without a pause, by one or by many."""

    clock: Callable[[], float]
    now: int = 0
    """Asks under way."""
    begun: float = 0.0
    """Since when there has been one, where there are any."""
    before: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=8))
    """The last times before, from and to."""

    def begin(self) -> None:
        if not self.now:
            self.begun = self.clock()
        self.now += 1

    def end(self) -> None:
        self.now -= 1
        if not self.now:
            self.before.append((self.begun, self.clock()))


@dataclass(frozen=True, slots=True)
class _WatchedSession:
    all_asks: InFlightRequests
    system: str
    asks: SystemAsks
    session: Session

    async def ask(self, request: ChatRequest) -> ChatReply:
        self.asks.begin()
        try:
            reply = await self.session.ask(request)
        finally:
            self.asks.end()
        if reply.times is not None:
            self.all_asks.timed.add(self.system)
        return reply


class LoopLag:
    """Samples the running loop's lag during *asks*; an async context manager around what is measured."""

    def __init__(self, asks: InFlightRequests) -> None:
        self._asks = asks
        self._lags: dict[str, list[float]] = {}
        self._most: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._sample())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        await cancel_and_wait(self._task)

    async def _sample(self) -> None:
        loop = asyncio.get_running_loop()
        interval = LAG_INTERVAL_S
        while True:
            due = loop.time() + interval
            await asyncio.sleep(interval)
            late = max(0.0, loop.time() - due)
            for system, lag in self._asks.in_the_last(late):
                self._lags.setdefault(system, []).append(lag)
                self._most[system] = max(lag, self._most.get(system, 0.0))
            if any(len(lags) >= LAGS_KEPT for lags in self._lags.values()):
                self._lags = {system: lags[::2] for system, lags in self._lags.items()}
                interval *= 2

    def summaries(self) -> dict[str, LagSummary]:
        """Return the lag measured so far, by name of each system whose replies are timed on the network."""
        return {system: self._summary(system) for system in sorted(self._asks.timed)}

    def _summary(self, system: str) -> LagSummary:
        lags = sorted(self._lags.get(system, ()))
        if not lags:
            return LagSummary(samples=0, p50_s=0.0, p99_s=0.0, max_s=0.0)
        p50, p99 = (lags[min(len(lags) - 1, int(q * len(lags)))] for q in (0.5, 0.99))
        return LagSummary(samples=len(lags), p50_s=p50, p99_s=p99, max_s=self._most[system])
