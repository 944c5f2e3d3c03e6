"""A system's politeness limit."""

from __future__ import annotations

import asyncio

import pytest
from asyncio_throttle.throttler import Throttler

from replay.core.asking.politeness import PolitenessLimit
from tests.virtual_time import in_virtual_time


@in_virtual_time
async def test_asks_pass_in_the_order_in_which_they_came():
    passed = []
    async with PolitenessLimit(1000, 1.0) as limit:

        async def ask(number):
            await limit.wait()
            passed.append(number)

        await asyncio.gather(*(ask(n) for n in range(20)))
    assert passed == list(range(20))


@in_virtual_time
async def test_no_more_asks_than_allowed_pass_at_once():
    async with PolitenessLimit(3, 60.0) as limit:
        waiting = [asyncio.ensure_future(limit.wait()) for _ in range(10)]
        for _ in range(100):
            await asyncio.sleep(0)
        assert sum(task.done() for task in waiting) == 3
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


@in_virtual_time
async def test_only_one_waiter_polls(monkeypatch):
    """asyncio-throttle polls while it waits; a thousand conversations must not all do so."""
    polling = 0
    most = 0

    async def acquire(self):
        nonlocal polling, most
        polling += 1
        most = max(most, polling)
        await asyncio.sleep(0)
        polling -= 1

    monkeypatch.setattr(Throttler, "acquire", acquire)
    async with PolitenessLimit(1, 1.0) as limit:
        await asyncio.gather(*(limit.wait() for _ in range(1000)))
    assert most == 1


@in_virtual_time
async def test_whoever_gave_up_uses_up_nothing():
    async with PolitenessLimit(1, 60.0) as limit:
        gone = asyncio.ensure_future(limit.wait())
        await asyncio.sleep(0)
        # Not yet dispatched when cancelled: the one ask of this minute is still there.
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        async with asyncio.timeout(1):  # it would be a minute
            await limit.wait()


@in_virtual_time
async def test_leaving_ends_the_dispatcher():
    before = asyncio.all_tasks()
    async with PolitenessLimit(1, 60.0) as limit:
        await limit.wait()
    assert asyncio.all_tasks() == before
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await limit.wait()
