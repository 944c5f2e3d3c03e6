"""The clock of the tests' own event loops: it stands still while the machine does."""

from __future__ import annotations

import asyncio
import os
import threading

from tests.virtual_time import SteadyLoop
from tests.waiting import hold_up, takes


async def test_this_is_such_a_loop():
    assert isinstance(asyncio.get_running_loop(), SteadyLoop)


async def test_what_comes_before_a_patience_ends_still_does_after_a_standstill():
    """As in a busy second of the machine: both moments have long passed when the loop goes on."""
    read, write = os.pipe()
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(read, came.set)
    loop.call_later(0.01, hold_up, 0.4)
    loop.call_later(0.03, os.write, write, b"x")
    patience_s = 0.3
    async with asyncio.timeout(patience_s):
        await came.wait()
    loop.remove_reader(read)
    os.close(read)
    os.close(write)


async def test_time_goes_on_while_others_are_waited_for():
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    begun = loop.time()
    timer = threading.Timer(0.1, loop.call_soon_threadsafe, [came.set])
    timer.start()
    await came.wait()
    timer.join()
    assert loop.time() - begun >= 0.09


async def test_who_sleeps_sleeps():
    begun = asyncio.get_running_loop().time()
    await takes(0.05)
    assert asyncio.get_running_loop().time() - begun >= 0.05
