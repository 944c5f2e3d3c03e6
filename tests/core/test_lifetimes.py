"""Cancelled, we leave once what we wait for is through, and always leave."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from threading import Event

import pytest

from replay.core.lifetimes import cancel_and_wait, in_thread, stoppable
from tests.waiting import PATIENCE_S, until_async


class Work:
    """Goes on in its thread until it may end."""

    def __init__(self) -> None:
        self.began, self.may_end, self.is_over = Event(), Event(), False

    def __call__(self, fails: bool = False) -> str:
        self.began.set()
        self.may_end.wait(PATIENCE_S)
        self.is_over = True
        if fails:
            raise ZeroDivisionError
        return "done"


@pytest.mark.parametrize("times", [1, 3])
async def test_a_thread_is_through_before_its_cancelled_waiter_leaves(times):
    work = Work()
    waiting = asyncio.create_task(in_thread(work))
    await until_async(work.began.is_set)
    for _ in range(times):
        waiting.cancel()
        await asyncio.sleep(0)
    assert not waiting.done()
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.is_over


async def test_so_it_is_where_every_task_of_the_loop_is_cancelled():
    """Which is how ``asyncio.run`` ends one that raised."""
    work = Work()
    waiting = asyncio.create_task(in_thread(work))
    await until_async(work.began.is_set)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    work.may_end.set()
    await asyncio.wait([waiting])
    assert (work.is_over, waiting.cancelled()) == (True, True)


async def test_a_failure_is_the_cause_of_the_cancellation_that_came_before():
    work = Work()
    waiting = asyncio.create_task(in_thread(work, fails=True))
    await until_async(work.began.is_set)
    waiting.cancel()
    await asyncio.sleep(0)
    work.may_end.set()
    with pytest.raises(asyncio.CancelledError) as raised:
        await waiting
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


async def test_what_is_done_in_a_thread_has_the_callers_context_and_comes_back():
    place = ContextVar("place", default="nowhere")
    place.set("here")
    assert await in_thread(lambda: place.get()) == "here"
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 / 0)


async def test_who_may_stop_is_told_to():
    began = Event()

    def work(stop: Event) -> bool:
        began.set()
        return stop.wait(PATIENCE_S)

    waiting = asyncio.create_task(stoppable(work))
    await until_async(began.is_set)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_ending_a_task_loses_no_cancellation_of_ones_own():
    """The task that is ended and the one that waits for it are cancelled at once, in either order."""

    async def forever() -> None:
        await asyncio.Event().wait()

    async def ends(task: asyncio.Task[None]) -> str:
        await cancel_and_wait(task)
        return "went on"

    for turns in range(1, 4):
        task = asyncio.create_task(forever())
        ending = asyncio.create_task(ends(task))
        for _ in range(turns):
            await asyncio.sleep(0)
        was_running = ending.cancel()
        await asyncio.wait([ending, task])
        assert task.cancelled()
        assert ending.cancelled() == was_running


async def test_a_task_that_had_failed_says_so_when_it_is_ended():
    async def fails() -> None:
        raise ZeroDivisionError

    task = asyncio.create_task(fails())
    await asyncio.sleep(0)
    with pytest.raises(ZeroDivisionError):
        await cancel_and_wait(task)
