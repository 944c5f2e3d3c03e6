"""How busy a process was: its CPU time within a window, over the time that passed there."""

from __future__ import annotations

import pytest

from replay.play.load.generator import BusyTime
from tests.virtual_time import in_virtual_time, now
from tests.waiting import takes


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
