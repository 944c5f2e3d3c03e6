import asyncio

import pytest

from replay import AdapterTimeoutError, ChatReply, ChatRequest
from replay.core.asking.retries import ask_within
from tests.virtual_time import in_virtual_time, now
from tests.waiting import takes

REQUEST = ChatRequest(question="Who?", history=(), depth=1)
REPLY = ChatReply(text="Mira.")


class Asked:
    """A session that does what it is told."""

    def __init__(self, ask):
        self.ask = ask


async def never(request):
    await asyncio.get_running_loop().create_future()


@in_virtual_time
async def test_an_answer_in_time_is_handed_on_and_leaves_no_timer():
    async def ask(request):
        return REPLY

    assert await ask_within(Asked(ask), REQUEST, 0.01) is REPLY
    await takes(0.02)  # a timer left behind would cancel this task


@in_virtual_time
async def test_a_late_answer_is_a_timeout_after_which_the_task_goes_on():
    with pytest.raises(AdapterTimeoutError, match=r"within 0\.01 s"):
        await ask_within(Asked(never), REQUEST, 0.01)
    assert asyncio.current_task().cancelling() == 0
    await asyncio.sleep(0)


@in_virtual_time
async def test_a_cancelled_ask_is_no_timeout():
    task = asyncio.create_task(ask_within(Asked(never), REQUEST, 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@in_virtual_time
async def test_who_is_cancelled_when_the_deadline_passes_is_cancelled():
    """A run that is told to stop must not take that for a slow system and ask again."""

    async def ask(request):
        try:
            await never(request)
        except asyncio.CancelledError:
            task.cancel()
            raise

    task = asyncio.create_task(ask_within(Asked(ask), REQUEST, 0.01))
    with pytest.raises(asyncio.CancelledError):
        await task


@in_virtual_time
async def test_an_answer_that_comes_all_the_same_counts():
    """An adapter that can't be interrupted right now may still have its reply."""

    async def ask(request):
        try:
            await never(request)
        except asyncio.CancelledError:
            return REPLY

    assert await ask_within(Asked(ask), REQUEST, 0.01) is REPLY
    assert asyncio.current_task().cancelling() == 0


@in_virtual_time
async def test_deadlines_may_lie_within_each_other():
    async with asyncio.timeout(60):
        with pytest.raises(AdapterTimeoutError):
            await ask_within(Asked(never), REQUEST, 0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ask_within(Asked(never), REQUEST, 60)


@in_virtual_time
async def test_every_ask_has_its_full_time_and_no_more():
    async def seconds():
        begun = now()
        with pytest.raises(AdapterTimeoutError):
            await ask_within(Asked(never), REQUEST, 64)
        return now() - begun

    assert all(64 <= lasted <= 64.1 for lasted in await asyncio.gather(*(seconds() for _ in range(20))))
