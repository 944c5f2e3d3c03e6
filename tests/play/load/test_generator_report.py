"""How a generator kept up: its lateness, how busy it was, its clock."""

from __future__ import annotations

import random

import numpy as np
import pytest

from replay.core.load_record import ClockOffset
from replay.play.load.generator import BusyTime
from replay.play.load.generator_report import LatenessCounter, clock_offset
from tests.statistics.load_runs import ask
from tests.virtual_time import in_virtual_time, now
from tests.waiting import takes


def test_lateness_is_from_due_to_sent_and_from_the_answer_before_where_that_came_later():
    late = LatenessCounter()
    late.add(ask(1.0, 3.0, late_s=0.5), counts=True)  # sent at 1.5, done at 4.5
    late.add(ask(2.0, 1.0, late_s=2.6, depth=2), counts=True)  # due before that, sent at 4.6
    late.add(ask(9.0, 1.0, late_s=0.2, depth=3), counts=True)
    found = late.take(first_turns=True)
    assert found is not None
    assert (found.asks, found.p50_s, found.max_s) == (3, pytest.approx(0.2, 1e-3), pytest.approx(0.5, 1e-3))


def test_retried_turns_and_those_outside_of_the_window_say_nothing():
    late = LatenessCounter()
    late.add(ask(1.0, 3.0, late_s=9.0, attempts=2), counts=True)
    late.add(ask(2.0, 1.0, late_s=9.0, conversation="b"), counts=False)
    assert late.take(first_turns=True) is None
    late.add(ask(3.0, 1.0, late_s=10.01, depth=2), counts=True)  # 10 ms after the answer before
    found = late.take(first_turns=True)
    assert found is not None
    assert found.max_s == pytest.approx(0.01, 1e-3)


def test_first_turns_say_nothing_where_arrivals_had_to_wait():
    late = LatenessCounter()
    for depth, late_s in ((1, 5.0), (2, 0.25)):
        late.add(ask(10.0 * depth, 1.0, late_s=late_s, depth=depth), counts=True)
    found = late.take(first_turns=False)
    assert found is not None
    assert (found.asks, found.max_s) == (1, pytest.approx(0.25, 1e-3))
    assert late.take(first_turns=True) is None, "the next level begins with none"


def test_conversations_that_are_over_take_no_room_and_percentiles_are_those_of_all():
    late, rng = LatenessCounter(), np.random.default_rng(0)
    drawn = rng.exponential(0.01, 10_000)
    for number, late_s in enumerate(drawn):
        late.add(ask(float(number), late_s=float(late_s), conversation=f"c{number}"), counts=True)
        late.forget(f"c{number}", "s", "pred")
    assert not late._done_s
    found = late.take(first_turns=True)
    assert found is not None
    assert [found.p50_s, found.p99_s] == pytest.approx(np.quantile(drawn, [0.5, 0.99]), rel=2e-3)


@pytest.mark.parametrize(
    ("window", "lasts_s", "share"),
    [
        ((1.0, 3.0), 4.0, 0.75),
        ((1.0, float("inf")), 2.0, 0.5),
        ((1.0, 9.0), 2.0, 0.5),
        ((5.0, 9.0), 2.0, None),
    ],
    ids=["of the whole window", "of one without an end", "of one cut short", "of one that never began"],
)
@in_virtual_time
async def test_only_what_was_done_in_the_window_counts(window, lasts_s, share):
    """Of CPU time the process takes nothing in the first second, then half of it, and all from 2 s to 9 s."""

    def cpu_s() -> float:
        return min(max(0.0, now() - 1) / 2, 0.5) + max(0.0, now() - 2)

    with BusyTime(window, now, cpu_clock=cpu_s) as busy:
        await takes(lasts_s)
    assert busy.share == (None if share is None else pytest.approx(share))


@in_virtual_time
async def test_nothing_is_left_behind_by_one_that_fails():
    busy = BusyTime((0.0, 5.0), now, cpu_clock=now)

    async def fail() -> None:
        with busy:
            await takes(1.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await takes(10.0)
    assert busy.share == 1.0
    assert len(busy._marks) == 2


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
