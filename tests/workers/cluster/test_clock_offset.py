"""How far the clock of another machine is ahead, by ping-pong."""

from __future__ import annotations

import random

import pytest

from replay.core.load_record import ClockOffset
from replay.workers.cluster.actor import clock_offset
from tests.virtual_time import in_virtual_time, now
from tests.waiting import takes


def far(ahead_s: float, ways_s: list[tuple[float, float]]):
    """Reads a clock *ahead_s* ahead of the loop's; an exchange takes the next of *ways_s*, there and back."""
    left = iter(ways_s)

    async def read() -> float:
        there_s, back_s = next(left)
        await takes(there_s)
        reading = now() + ahead_s
        await takes(back_s)
        return reading

    return read


@in_virtual_time
async def test_ways_that_take_as_long_there_as_back_give_the_offset_itself():
    read = far(-1e6, [(0.5, 0.1), (0.003, 0.003), (0.2, 0.4)])
    found = await clock_offset(read, clock=now, exchanges=3)
    assert found.offset_s == pytest.approx(-1e6)
    assert found.uncertainty_s == pytest.approx(0.003), "that of the quickest exchange"


@in_virtual_time
async def test_an_offset_is_never_further_off_than_its_uncertainty():
    rng = random.Random(1)
    found = set[ClockOffset]()
    for _ in range(200):
        ahead_s = rng.uniform(-1e5, 1e5)
        ways_s = [(rng.expovariate(100), rng.expovariate(1000)) for _ in range(8)]
        offset = await clock_offset(far(ahead_s, ways_s), clock=now)
        assert abs(offset.offset_s - ahead_s) <= offset.uncertainty_s + 1e-9
        found.add(offset)
    assert max(offset.uncertainty_s for offset in found) < 0.05
