"""
Plays conversations side by side, each in order, and hands every record to the sink.

Knows nothing of scorers, judges and reports: what was answered does not depend on how it is judged.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from time import monotonic
from typing import Generic, Protocol, TypeVar

from replay.core.asking.retries import open_endpoints
from replay.core.lifetimes import in_thread
from replay.core.load_record import LagSummary
from replay.core.record import TurnRecord
from replay.play.event_loop import InFlightRequests, LoopLag, first_failure
from replay.play.gc_pause import gc_paused
from replay.play.play import Play, System
from replay.play.player import Player, PlayOptions, RecordSink

T = TypeVar("T")
R = TypeVar("R")

FETCHED_AT_ONCE = 32
FETCHING_S = 0.005


class Observer(Protocol):
    """Told what happens, for progress displays; must return at once."""

    def recorded(self, record: TurnRecord) -> None: ...

    def played(self, play: Play) -> None: ...


class NotifyingSink:
    """A sink that tells the observer after the record is durable."""

    def __init__(self, sink: RecordSink, observer: Observer) -> None:
        self._sink = sink
        self._observer = observer

    async def write(self, record: TurnRecord) -> None:
        await self._sink.write(record)
        if not record.is_end:
            self._observer.recorded(record)


async def play_all(
    plays: Iterator[Play],
    options: PlayOptions,
    *,
    systems: tuple[System, ...],
    sink: RecordSink,
    concurrency: int,
    observer: Observer | None = None,
) -> dict[str, LagSummary]:
    """
    Play everything that *plays* yields, and return how far the event loop lagged.

    Args:
        plays: Conversations to play; advanced in a thread, since it may read files.
        options: How to play them.
        systems: The systems, whose adapters are opened meanwhile.
        sink: Takes the records.
        concurrency: Conversations at a time, at most.
        observer: Told of each record and each play that is over.

    Returns:
        The lag while each system was asked, by name; only of systems whose replies are timed on the network.

    Raises:
        ReplayError: the run could not go on; what was answered until then is in the sink.
    """
    asks = InFlightRequests()
    player = Player(NotifyingSink(sink, observer) if observer else sink, options, asks=asks)
    source = SharedIterator(plays)

    async def keep_playing() -> None:
        async for play in source:
            await player.play(play)
            if observer:
                observer.played(play)

    async with open_endpoints(systems), LoopLag(asks) as lag:
        with first_failure(), gc_paused():
            async with asyncio.TaskGroup() as tasks:
                for _ in range(concurrency):
                    tasks.create_task(keep_playing())
    return lag.summaries()


class SharedIterator(Generic[T]):
    """
    Lets many tasks draw from one iterator that may block.

    It is advanced in a thread. Since a change of threads costs more than an ask, a few items are
    fetched at once, but nobody waits long for items that are not for them.
    """

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._turn = asyncio.Lock()
        self._fetched: deque[T] = deque()
        self._end: BaseException | None = None

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._fetched:
            if self._end is not None:
                raise self._end
            async with self._turn:
                if not self._fetched and self._end is None:
                    await in_thread(self._fetch)
        return self._fetched.popleft()

    async def between(self, function: Callable[[], R]) -> R:
        """Return the result of *function*, called in a thread while no item is fetched."""
        async with self._turn:
            return await in_thread(function)

    def _fetch(self) -> None:
        until = monotonic() + FETCHING_S
        try:
            while True:
                self._fetched.append(next(self._items))
                if len(self._fetched) >= FETCHED_AT_ONCE or monotonic() > until:
                    return
        except StopIteration:  # can't cross a future
            self._end = StopAsyncIteration()
        except BaseException as error:  # noqa: BLE001 - what was fetched before is played first
            self._end = error
