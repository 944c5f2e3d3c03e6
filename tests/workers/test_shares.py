"""What workers have a share of: rate limits, and the count of failures in a row."""

from __future__ import annotations

import asyncio
import os

import pytest

from replay.core.asking.limits import Breaker, LocalTokenBucket, RateLimit
from replay.core.errors import AdapterRefusedError, RunStoppedError
from replay.workers.failure_counts import SharedFailureCounts, shared_memory
from replay.workers.job import keep_share, own_share, workers_within_limits
from tests.virtual_time import in_virtual_time, now
from tests.waiting import others_first


@pytest.mark.parametrize(("asks", "among"), [(5, 2), (3, 3), (7, 4)])
async def test_shares_of_a_limit_are_together_the_limit(asks, among):
    waiting = []
    for index in range(among):
        limit = RateLimit(asks, 3600.0)
        keep_share(limit, index, among)
        waiting += [asyncio.create_task(limit.wait()) for _ in range(asks + 1)]
    await others_first()
    assert sum(task.done() for task in waiting) == asks
    for task in waiting:
        task.cancel()


@in_virtual_time
async def test_who_asks_beside_the_workers_keeps_to_a_share_while_they_play():
    limit = RateLimit(5, 60.0)
    limit.tokens = LocalTokenBucket(5, 60.0, clock=now)
    asked: list[int] = []

    async def ask() -> None:
        await limit.wait()
        asked.append(round(now()))

    async with own_share([limit], 2, 3):
        asking = [asyncio.create_task(ask()) for _ in range(6)]
        await asyncio.sleep(90)
    await asyncio.wait(asking)
    assert asked == [0, 60, 120, 150, 150, 150], "all of it once the workers' last asks count no longer"


@pytest.mark.parametrize(
    ("asks", "beside", "workers"), [((), False, 4), ((9, 3), False, 3), ((3,), True, 2), ((1,), True, 1)]
)
def test_no_more_workers_play_than_the_smallest_limit_can_be_divided_among(asks, beside, workers):
    limits = [RateLimit(number, 1.0) for number in asks]
    assert workers_within_limits(4, limits, asks_beside=beside) == workers


@pytest.fixture
def counts():
    """Those of two processes."""
    with shared_memory(2) as memory:
        yield [SharedFailureCounts(memory.fileno(), ["a", "b"]) for _ in range(2)]


def test_failures_of_all_processes_are_in_a_row_until_one_has_an_answer(counts):
    one, other = counts
    assert [one.failed("a"), other.failed("a"), other.failed("b"), one.failed("a")] == [1, 2, 1, 3]
    assert not one.has_answered("a")
    other.answered("a")
    assert one.has_answered("a")
    assert one.failed("a") == 1
    assert one.failed("b") == 2


async def test_a_process_stops_at_the_number_though_another_one_reached_it_first(counts):
    first, second = (Breaker(2, counts=each) for each in counts)
    refused = AdapterRefusedError("no", status=500)
    await first.failed("a", refused)
    await second.failed("a", refused)
    assert (first.stop is None, isinstance(second.stop, RunStoppedError)) == (True, True)
    await first.failed("a", refused)
    assert "brought 2 failures in a row" in str(first.stop)


def test_a_process_that_ends_takes_no_count_with_it(counts):
    if (child := os.fork()) == 0:
        counts[0].failed("a")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert counts[1].failed("a") == 2
