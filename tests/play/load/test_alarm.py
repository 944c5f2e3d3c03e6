"""The alarm: never early, in order, and without a trace of those who gave up."""

from __future__ import annotations

import asyncio
import os
import sys
from time import perf_counter

import pytest

from replay.play.load import alarm as alarm_module
from replay.play.load.alarm import Alarm


@pytest.fixture(params=["timer", "loop"])
def kind(request, monkeypatch):
    """With the operating system's timer, and without."""
    if request.param == "loop":

        def missing():
            raise OSError("no such timers")

        monkeypatch.setattr(alarm_module, "TimerFd", missing)
    elif sys.platform != "linux":
        pytest.skip("only Linux has timers that are files")
    return request.param


async def test_nobody_is_woken_early_and_all_in_order(kind):
    woken = []
    async with Alarm() as alarm:
        assert alarm.exact == (kind == "timer")
        start = perf_counter()

        async def wait(after_s):
            await alarm.until(start + after_s)
            woken.append((after_s, perf_counter() - start))

        delays = [0.03, 0.001, 0.0151, 0.015, 0.015, 0.0002, 0.02]
        await asyncio.gather(*map(wait, delays))
    assert [due for due, _ in woken] == sorted(delays)
    assert all(at >= due for due, at in woken)


async def test_those_with_the_same_moment_go_on_in_the_order_in_which_they_came(kind):
    woken = []
    async with Alarm() as alarm:
        when = perf_counter() + 0.01

        async def wait(number):
            await alarm.until(when)
            woken.append(number)

        await asyncio.gather(*map(wait, range(100)))
    assert woken == list(range(100))


async def test_a_moment_that_is_past_lets_nobody_else_go_first(kind):
    async with Alarm() as alarm:
        others = []
        asyncio.get_running_loop().call_soon(others.append, 1)
        await alarm.until(perf_counter())
        await alarm.until(float("-inf"))
        assert not others


async def test_an_earlier_moment_that_comes_later_is_not_kept_waiting(kind):
    async with Alarm() as alarm:
        late = asyncio.create_task(alarm.until(perf_counter() + 3600))
        await asyncio.sleep(0)
        async with asyncio.timeout(5):
            await alarm.until(perf_counter() + 0.005)
        assert not late.done()
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late


async def test_who_gives_up_is_not_missed_and_does_not_hold_up_the_others(kind):
    async with Alarm() as alarm:
        start = perf_counter()
        gone = asyncio.create_task(alarm.until(start + 0.005))
        stays = asyncio.create_task(alarm.until(start + 0.010))
        await asyncio.sleep(0)
        gone.cancel()
        async with asyncio.timeout(5):
            await stays
            await alarm.until(perf_counter() + 0.005)
        assert gone.cancelled()
        assert perf_counter() >= start + 0.010


async def test_ten_thousand_who_give_up_leave_nothing_behind(kind):
    async with Alarm() as alarm:
        far = perf_counter() + 3600
        waiting = [asyncio.create_task(alarm.until(far + number)) for number in range(10_000)]
        await asyncio.sleep(0)
        assert len(alarm._waiting) == 10_000
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert len(alarm._waiting) <= 100
        async with asyncio.timeout(5):
            await alarm.until(perf_counter() + 0.001)


async def test_cancelled_after_being_woken_is_not_counted_as_given_up(kind):
    async with Alarm() as alarm:
        woken = asyncio.create_task(alarm.until(perf_counter() + 0.005))
        await asyncio.sleep(0)
        while not alarm._waiting[0][0] <= perf_counter():
            pass
        alarm._ring()
        woken.cancel()
        with pytest.raises(asyncio.CancelledError):
            await woken
        assert alarm._given_up == 0


async def test_whoever_waits_when_it_is_left_is_cancelled(kind):
    async with Alarm() as alarm:
        waiting = asyncio.create_task(alarm.until(perf_counter() + 3600))
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
async def test_leaving_gives_the_timer_back():
    async with Alarm() as alarm:
        await alarm.until(perf_counter() + 0.001)
        inside = len(os.listdir("/proc/self/fd"))
    assert len(os.listdir("/proc/self/fd")) == inside - 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has timers that are files")
async def test_an_idle_alarm_leaves_the_loop_alone(monkeypatch):
    """A timer that ran out and is still readable would turn the loop round and round."""
    rings = 0
    ring = Alarm._ring

    def counted(self):
        nonlocal rings
        rings += 1
        ring(self)

    monkeypatch.setattr(Alarm, "_ring", counted)
    async with Alarm() as alarm:
        for _ in range(3):
            await alarm.until(perf_counter() + 0.001)
        far = asyncio.create_task(alarm.until(perf_counter() + 3600))
        await asyncio.sleep(0.02)
        far.cancel()
        await asyncio.gather(far, return_exceptions=True)
        await asyncio.sleep(0.02)
    assert rings == 3


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has timers that are files")
def test_it_works_on_uvloop_too():
    uvloop = pytest.importorskip("uvloop")

    async def main():
        async with Alarm() as alarm:
            assert alarm.exact
            start = perf_counter()
            await asyncio.gather(*(alarm.until(start + n / 1000) for n in range(20)))
            return perf_counter() - start

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main()) >= 0.019
