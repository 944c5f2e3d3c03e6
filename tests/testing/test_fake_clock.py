"""A clock that nobody waits for."""

from __future__ import annotations

import asyncio

import pytest

from replay.testing import FakeClock


async def test_sleeping_moves_it_and_is_remembered():
    clock = FakeClock(100.0)
    await clock.sleep(2.5)
    await clock.sleep(0)
    assert (clock(), clock.slept) == (102.5, [2.5, 0])


async def test_side_by_side_whoever_is_done_first_wakes_first():
    clock, woken = FakeClock(), []

    async def sleep(*delays_s):
        for delay_s in delays_s:
            await clock.sleep(delay_s)
            woken.append((clock(), delay_s))

    await asyncio.gather(sleep(5), sleep(1, 1, 9), sleep(3))
    assert woken == [(1, 1), (2, 1), (3, 3), (5, 5), (11, 9)]


async def test_a_sleep_that_is_cancelled_holds_nobody_up():
    clock = FakeClock()
    short = asyncio.create_task(clock.sleep(1))
    await asyncio.sleep(0)
    short.cancel()
    await clock.sleep(2)
    assert clock() == 2


def test_it_moves_on_when_told_to_and_never_back():
    clock = FakeClock()
    clock.advance(1.5)
    with pytest.raises(ValueError, match="-1 is below 0"):
        clock.advance(-1)
    assert clock() == 1.5


def test_it_may_move_on_at_each_reading():
    clock = FakeClock(step_s=2.0)
    assert [clock(), clock(), clock()] == [0, 2, 4]
