"""
When failures stop a run.

A system's politeness limit.
"""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, strategies as st

from replay.core.asking.limits import Breaker, LocalTokenBucket, RateLimit
from replay.core.errors import AdapterConnectionError, AdapterRefusedError, RunStoppedError
from tests.virtual_time import in_virtual_time, now

DOWN = AdapterConnectionError("no connection", retryable=True)


def refused(status: int) -> AdapterRefusedError:
    return AdapterRefusedError(f"POST /ask answered {status}; set KEY", status=status)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_stops_a_run_that_has_no_answer_yet(status):
    breaker = Breaker(who="library", way_out=" (Or go on.)")
    with pytest.raises(
        RunStoppedError, match=rf'library "desk".*answered {status}; set KEY\. \(Or go on\.\)$'
    ):
        await breaker.failed("desk", refused(status))


async def after(breaker, *happened):
    """*breaker* once that has happened: an answer, a failed connection, or a status that refuses."""
    for event in happened:
        name, _, what = event.partition(" ")
        if what == "answers":
            breaker.answered(name)
        else:
            await breaker.failed(name, DOWN if what == "down" else refused(int(what)))
    return breaker


@pytest.mark.parametrize(
    "happened",
    [("desk down", "desk 401"), ("desk answers", "shop 401")],
    ids=["another failure is no answer", "another system's answer is none of its own"],
)
async def test_so_it_does_whatever_else_happened(happened):
    with pytest.raises(RunStoppedError, match=happened[-1].partition(" ")[0]):
        await after(Breaker(None), *happened)


@pytest.mark.parametrize(
    ("breaker", "happened"),
    [
        *((Breaker(None), [f"desk {status}"]) for status in (400, 404, 429, 500)),
        (Breaker(None), ["desk answers", "desk 403"]),
        (Breaker(None, fail_fast=False), ["desk 401"]),
        (Breaker(3), ["desk down"] * 2),
        (Breaker(2), ["desk down", "desk answers"] * 5),
        (Breaker(2), ["desk down", "shop down"]),
    ],
)
async def test_what_stops_nothing(breaker, happened):
    """One conversation may be none of ours to ask about, and failures count in a row and system by system."""
    assert (await after(breaker, *happened)).stop is None


async def test_so_many_failures_in_a_row_stop_the_run():
    breaker = await after(Breaker(3), *["desk down"] * 3)
    assert isinstance(breaker.stop, RunStoppedError)
    assert 'system "desk" brought 3 failures in a row' in str(breaker.stop)
    assert "no connection" in str(breaker.stop)


async def test_what_a_system_says_moves_no_cursor():
    breaker = Breaker(1)
    await breaker.failed("desk", AdapterRefusedError("\x1b[2Jgone"))
    assert "\x1b" not in str(breaker.stop)
    assert "brought 1 failure (" in str(breaker.stop)


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
