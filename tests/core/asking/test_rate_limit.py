"""A system's politeness limit."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, strategies as st

from replay.core.asking.limits import LocalTokenBucket, RateLimit
from tests.virtual_time import in_virtual_time, now


def limit(asks, per_s):
    """One in virtual time."""
    made = RateLimit(asks, per_s)
    made.tokens = LocalTokenBucket(asks, per_s, clock=now)
    return made


@in_virtual_time
async def test_asks_pass_in_the_order_in_which_they_came():
    passed = []
    one = limit(3, 1.0)

    async def ask(number):
        await one.wait()
        passed.append(number)

    await asyncio.gather(*(ask(n) for n in range(20)))
    assert passed == list(range(20))


@in_virtual_time
async def test_no_more_asks_than_allowed_pass_at_once():
    one = limit(3, 60.0)
    waiting = [asyncio.ensure_future(one.wait()) for _ in range(10)]
    for _ in range(100):
        await asyncio.sleep(0)
    assert sum(task.done() for task in waiting) == 3
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


@given(st.lists(st.floats(0, 30), min_size=1, max_size=40), st.integers(1, 5))
def test_in_no_stretch_of_time_pass_more_than_allowed_and_none_waits_longer_than_it_must(came_s, asks):
    @in_virtual_time
    async def check():
        one, passed_s = limit(asks, 2.0), []

        async def ask(at_s):
            await asyncio.sleep(at_s)
            await one.wait()
            passed_s.append(now())

        await asyncio.gather(*map(ask, came_s))
        expected = []
        for at_s in sorted(came_s):
            expected.append(at_s if len(expected) < asks else max(at_s, expected[-asks] + 2.0))
        assert passed_s == pytest.approx(expected, abs=0.05)
        assert all(later - earlier > 2.0 for earlier, later in zip(passed_s, passed_s[asks:], strict=False))

    check()


@in_virtual_time
async def test_whoever_gave_up_uses_up_nothing():
    one = limit(1, 60.0)
    await one.wait()
    gone = [asyncio.ensure_future(one.wait()) for _ in range(2)]
    next_one = asyncio.ensure_future(one.wait())
    await asyncio.sleep(30)
    gone[0].cancel()
    asyncio.get_running_loop().call_at(60.0, lambda: asyncio.get_running_loop().call_soon(gone[1].cancel))
    async with asyncio.timeout_at(61):
        await next_one
    assert [task.cancelled() for task in gone] == [True, True]


@in_virtual_time
async def test_nobody_polls():
    before = asyncio.all_tasks()
    one = limit(1, 60.0)
    await one.wait()
    assert asyncio.all_tasks() == before
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(59):
            await one.wait()
