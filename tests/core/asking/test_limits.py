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


@pytest.mark.parametrize("status", [400, 404, 429, 500, None])
async def test_other_failures_do_not(status):
    breaker = Breaker(None)
    await breaker.failed("desk", AdapterRefusedError("no", status=status))
    assert breaker.stop is None


async def test_failures_of_another_kind_before_it_are_no_answer():
    breaker = Breaker(None)
    await breaker.failed("desk", DOWN)
    with pytest.raises(RunStoppedError):
        await breaker.failed("desk", refused(401))


async def test_a_refused_key_is_a_failure_like_others_once_something_was_answered():
    """One conversation may be none of ours to ask about."""
    breaker = Breaker(None)
    breaker.answered("desk")
    await breaker.failed("desk", refused(403))
    assert breaker.stop is None


async def test_answers_of_one_system_say_nothing_about_the_key_of_another():
    breaker = Breaker(None)
    breaker.answered("desk")
    with pytest.raises(RunStoppedError, match='"shop"'):
        await breaker.failed("shop", refused(401))


async def test_failing_fast_can_be_turned_off():
    breaker = Breaker(None, fail_fast=False)
    await breaker.failed("desk", refused(401))
    assert breaker.stop is None


async def test_so_many_failures_in_a_row_stop_the_run():
    breaker = Breaker(3)
    for _ in range(2):
        await breaker.failed("desk", DOWN)
        assert breaker.stop is None
    await breaker.failed("desk", DOWN)
    assert isinstance(breaker.stop, RunStoppedError)
    assert 'system "desk" brought 3 failures in a row' in str(breaker.stop)
    assert "no connection" in str(breaker.stop)


async def test_an_answer_begins_the_count_anew():
    breaker = Breaker(2)
    for _ in range(5):
        await breaker.failed("desk", DOWN)
        breaker.answered("desk")
    assert breaker.stop is None


async def test_systems_are_counted_apart():
    breaker = Breaker(2)
    await breaker.failed("desk", DOWN)
    await breaker.failed("shop", DOWN)
    assert breaker.stop is None


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
