"""A generator on another machine: the run's start by its clock, looked at before each level."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from replay.core.load_record import ClockOffset, GeneratorReport
from replay.load.cluster_players import RemoteGenerator
from replay.load.counting import Count
from replay.load.level_players import CountReport
from replay.play.load.level import Level, LevelOutcome

LEVEL = Level(index=0, value=1.0, is_open=True, start_s=0.0)


def offset(offset_s: float, uncertainty_s: float) -> ClockOffset:
    return ClockOffset(offset_s=offset_s, uncertainty_s=uncertainty_s)


class Actor:
    """One whose clock is found to be *offsets* ahead, the first time when it is started."""

    def __init__(self, *offsets: ClockOffset) -> None:
        self.clock, *self._later = offsets
        self.starts: list[float] = []

    async def clock_offset(self) -> ClockOffset:
        return self._later.pop(0)

    async def call(self, method: str, level: Level, start: float) -> tuple[LevelOutcome, CountReport]:
        self.starts.append(start)
        report = GeneratorReport(host="there", conversations=1)
        outcome = LevelOutcome(ended_s=1.0, conversations=1, cut=0, delayed=0, generators=(report,))
        return outcome, CountReport(Count(), {})


@pytest.mark.parametrize(
    ("first", "second", "start", "taken"),
    [
        (offset(50, 0.002), offset(50.001, 0.003), 150.0, 0),
        (offset(50, 0.002), offset(50.001, 0.002), 150.001, 1),
        (offset(50, 0.002), offset(50.0051, 0.003), 150.0051, 1),
        (offset(50, 0.002), offset(49.9949, 0.003), 149.9949, 1),
    ],
    ids=["may be the same", "is as exact", "has surely moved on", "has surely fallen behind"],
)
async def test_a_clock_is_corrected_between_levels_where_that_makes_it_more_exact(
    first, second, start, taken
):
    actor: Any = Actor(first, second)
    job: Any = SimpleNamespace(start=100.0)
    generator = RemoteGenerator(actor, job)
    await generator.look_at_clock()
    outcome, _ = await generator.play(LEVEL)
    (report,) = outcome.generators
    assert actor.starts == pytest.approx([start], abs=1e-9)
    assert report.clock == (first, second)[taken]
    assert report.clock_moved_s == pytest.approx(second.offset_s - first.offset_s)
