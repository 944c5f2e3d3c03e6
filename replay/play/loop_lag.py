"""
How late the event loop is: time between when a timer was due and when it was served.

A client whose own loop lags reports its own slowness as the system's. The lag is measured in every run
and shown beside the latencies.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

INTERVAL_S = 0.02
KEPT = 50_000
"""Lags kept; beyond that every second one is dropped and the interval doubled, so memory stays flat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSummary:
    """Quantiles of the loop's lag in seconds; all 0 when the run was shorter than one interval."""

    samples: int
    p50_s: float
    p99_s: float
    max_s: float


class LoopLag:
    """Samples the running loop's lag; an async context manager around what is measured."""

    def __init__(self) -> None:
        self._lags: list[float] = []
        self._max = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._sample())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _sample(self) -> None:
        loop = asyncio.get_running_loop()
        interval = INTERVAL_S
        while True:
            due = loop.time() + interval
            await asyncio.sleep(interval)
            lag = max(0.0, loop.time() - due)
            self._max = max(self._max, lag)
            self._lags.append(lag)
            if len(self._lags) >= KEPT:
                self._lags = self._lags[::2]
                interval *= 2

    def summary(self) -> LagSummary:
        """What was measured so far."""
        lags = sorted(self._lags)
        if not lags:
            return LagSummary(samples=0, p50_s=0.0, p99_s=0.0, max_s=0.0)
        p50, p99 = (lags[min(len(lags) - 1, int(q * len(lags)))] for q in (0.5, 0.99))
        return LagSummary(samples=len(lags), p50_s=p50, p99_s=p99, max_s=self._max)
