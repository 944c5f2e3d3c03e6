"""How late the loop is, by clocks that tests set."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from replay.play import loop_lag
from replay.play.loop_lag import INTERVAL_S, LagSummary, LoopLag


async def sampled(monkeypatch: pytest.MonkeyPatch, lags: Iterable[float]) -> tuple[LoopLag, list[float]]:
    """The lag after timers that were late by *lags*, and the intervals that were waited."""
    late, waited, now = iter(lags), [], [100.0]
    done = asyncio.Event()

    async def sleep(interval: float) -> None:
        waited.append(interval)
        lag = next(late, None)
        if lag is None:
            done.set()
            await asyncio.Event().wait()
        else:
            now[0] += interval + lag

    async with LoopLag() as lag:
        monkeypatch.setattr(loop_lag.asyncio, "sleep", sleep)
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0], raising=False)
        await done.wait()
        monkeypatch.undo()
    return lag, waited


async def test_without_a_sample_everything_is_0():
    async with LoopLag() as lag:
        pass

    assert lag.summary() == LagSummary(samples=0, p50_s=0.0, p99_s=0.0, max_s=0.0)


async def test_quantiles_are_of_what_was_late(monkeypatch):
    lag, waited = await sampled(monkeypatch, [n / 1000 for n in range(200)])
    summary = lag.summary()

    assert waited == [0.02] * 201
    assert summary.samples == 200
    assert summary.p50_s == pytest.approx(0.100)
    assert summary.p99_s == pytest.approx(0.198)
    assert summary.max_s == pytest.approx(0.199)


async def test_a_timer_that_comes_early_is_not_late(monkeypatch):
    lag, _ = await sampled(monkeypatch, [-0.001, -0.002])

    assert lag.summary() == LagSummary(samples=2, p50_s=0.0, p99_s=0.0, max_s=0.0)


async def test_a_long_run_keeps_every_second_lag_and_samples_half_as_often(monkeypatch):
    """The largest stays known even where it is dropped."""
    monkeypatch.setattr(loop_lag, "KEPT", 4)
    lag, waited = await sampled(monkeypatch, [0.1, 0.9, 0.2, 0.3, 0.4, 0.5, 0.6])

    assert waited == [INTERVAL_S] * 4 + [2 * INTERVAL_S] * 2 + [4 * INTERVAL_S] * 2
    assert lag.summary().samples == 3  # 0.1 and 0.2; 0.4 and 0.5 fill it, of which 0.1 and 0.4 stay; 0.6
    assert lag.summary().max_s == pytest.approx(0.9)
