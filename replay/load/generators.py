"""
One of several that offer a load, seen from the program that plays the run; and its clock, where that is
another machine's.

Clocks drift apart, by a second a day or so. They are looked at before each level; within a level nothing is
corrected, so that its arrivals keep the even course of one clock.
"""

from __future__ import annotations

from dataclasses import replace

from replay.play.load.level import Level, LevelOutcome
from replay.workers.cluster.worker_handle import WorkerHandle


class RemoteGenerator:
    """A process or an actor, which is started."""

    def __init__(self, child: WorkerHandle) -> None:
        self.child = child
        self._clock = child.clock
        self._moved_s: float | None = None
        """How much further ahead it was found the last time than before."""

    async def look_at_clock(self) -> None:
        """
        Measure the clock anew; that is taken where it is more exact, or the clock has moved for certain.

        Raises:
            PeerGoneError: it is gone.
        """
        found, known = await self.child.clock_offset(), self._clock
        if found is None or known is None:
            return
        self._moved_s = found.offset_s - known.offset_s
        if found.uncertainty_s <= known.uncertainty_s or abs(self._moved_s) > (
            found.uncertainty_s + known.uncertainty_s
        ):
            self._clock = found

    async def play(self, level: Level) -> LevelOutcome:
        """
        What comes of its share of *level*.

        Raises:
            PeerGoneError, ReplayError: it is gone, or could not go on.
        """
        start = self.child.job.start + (self._clock.offset_s if self._clock else 0.0)
        outcome: LevelOutcome = await self.child.call("play", level, start)
        reports = (replace(one, clock=self._clock, clock_moved_s=self._moved_s) for one in outcome.generators)
        return replace(outcome, generators=tuple(reports))
