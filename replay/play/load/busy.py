"""How busy this process is in a part of a level: one that never rests sends late, and reads answers late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self


class BusyTime:
    """
    CPU time over time, within a window; a context manager around what is measured, within an event loop.

    The CPU time is that of all threads of this process, and not of other processes.
    """

    def __init__(
        self,
        window: tuple[float, float],
        clock: Callable[[], float],
        *,
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        """*window* is from and to, as readings of *clock*; it ends with the block at the latest."""
        self._window = window
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._marks: list[tuple[float, float]] = []
        self._timers: list[asyncio.TimerHandle] = []

    def __enter__(self) -> Self:
        loop, now = asyncio.get_running_loop(), self._clock()
        self._timers = [
            loop.call_later(max(0.0, moment - now), self._mark)
            for moment in self._window
            if moment < float("inf")
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for timer in self._timers:
            timer.cancel()
        if len(self._marks) == 1:
            self._mark()

    def _mark(self) -> None:
        self._marks.append((self._clock(), self._cpu_clock()))

    @property
    def share(self) -> float | None:
        """0 for a process that only waited, 1 for one that kept one core busy; None before the window."""
        if len(self._marks) < 2:
            return None
        (began, cpu_began), (ended, cpu_ended) = self._marks
        return (cpu_ended - cpu_began) / (ended - began) if ended > began else None
