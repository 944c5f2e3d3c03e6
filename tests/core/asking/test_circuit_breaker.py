"""When failures stop a run."""

from __future__ import annotations

import pytest

from replay.core.asking.limits import Breaker
from replay.core.errors import AdapterConnectionError, AdapterRefusedError, RunStoppedError

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
