"""
Wakes tasks at exact moments.

An event loop's own timers are no good for open arrivals: asyncio rounds the time it waits up to whole
milliseconds, and libuv's timers, so uvloop's, count in milliseconds too. Here one timer of the operating
system, a file that the loop watches (``timer_fd``), stands for the earliest of all waiting tasks.

Where there are no such timers, on anything but Linux, the loop's own have to do; ``exact`` tells.

``benchmarks/alarm.py`` measures this against the other ways there are. At 500 arrivals/s on an idle
asyncio loop the median lateness is 0.06 to 0.09 ms, as that of time.sleep, where the loop's own timers
take 0.6 ms; the 99th percentile is the machine's. A helper thread is half as exact and has to fight for
the interpreter's lock with a busy loop. Asking the loop for a timer a little earlier and going round
until it is time is as exact, but takes a fifth of a core.
"""

from __future__ import annotations

import asyncio
import heapq
from itertools import count
from time import perf_counter
from types import TracebackType
from typing import Self

from replay.play.load.timer_fd import TimerFd

_FEW = 64
"""Given-up waits that may lie about before they are cleared away."""


class Alarm:
    """
    An async context manager around those who wait, for one event loop.

    Whoever still waits when it is left is cancelled.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        """A heap; the number keeps those with the same moment in the order in which they came."""
        self._numbers = count()
        self._given_up = 0
        self._set_for = float("inf")
        """The moment for which the timer is set; infinite when it is stopped."""
        self._timer: TimerFd | None = None
        self._handle: asyncio.TimerHandle | None = None

    @property
    def exact(self) -> bool:
        """Whether the operating system's timer is used, not the event loop's."""
        return self._timer is not None

    async def __aenter__(self) -> Self:
        loop = self._loop = asyncio.get_running_loop()
        try:
            self._timer = TimerFd()
        except OSError:
            return self
        try:
            loop.add_reader(self._timer.fd, self._ring)
        except BaseException:
            self._timer.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._loop.remove_reader(self._timer.fd)
            self._timer.close()
            self._timer = None
        if self._handle is not None:
            self._handle.cancel()
        for _, _, turn in self._waiting:
            turn.cancel()
        self._waiting.clear()

    async def until(self, when: float) -> None:
        """
        Return at *when*, a reading of ``time.perf_counter``.

        Returns at once when that is past, without giving other tasks a turn: whoever is late has to be
        able to catch up, however slow the loop goes round.
        """
        if when <= perf_counter():
            return
        turn = self._loop.create_future()
        heapq.heappush(self._waiting, (when, next(self._numbers), turn))
        if when < self._set_for:
            self._set(when)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():  # otherwise it was woken just before, and is no longer in the heap
                self._given_up += 1
                self._clear_away()
            raise

    def _ring(self) -> None:
        """Wake all whose moment has come, and set the timer for the next."""
        now = perf_counter()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, turn = heapq.heappop(self._waiting)
            if turn.done():
                self._given_up -= 1
            else:
                turn.set_result(None)
        self._set_for_first()

    def _clear_away(self) -> None:
        if self._given_up > max(_FEW, len(self._waiting) // 2):
            self._waiting = [entry for entry in self._waiting if not entry[2].done()]
            heapq.heapify(self._waiting)
            self._given_up = 0
            self._set_for_first()

    def _set_for_first(self) -> None:
        self._set(self._waiting[0][0] if self._waiting else float("inf"))

    def _set(self, when: float) -> None:
        # Set by how long it is until then, so that the timer's clock need not be perf_counter's.
        self._set_for = when
        after_s = when - perf_counter()
        if self._timer is not None:
            if self._waiting:
                self._timer.start(after_s)
            else:
                self._timer.stop()
            return
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._loop.call_later(after_s, self._ring) if self._waiting else None
