"""A clock for tests: time passes when it is told to, or when somebody sleeps on it, and never by itself."""

from __future__ import annotations

import asyncio

LOOP_TURNS = 10
"""So often everything else that is ready goes on before a sleep ends."""


class FakeClock:
    """
    Seconds that nobody waits for.

    Give the clock itself where a program takes a ``clock`` (calling it reads it) and ``clock.sleep`` where
    it takes a ``sleep``. Whoever sleeps moves the clock to the end of the sleep. Tasks that sleep side by
    side wake in the order in which their sleeps end, provided that what they do in between takes no more
    than a few turns of the event loop: a real socket takes longer.
    """

    def __init__(self, now_s: float = 0.0, *, step_s: float = 0.0) -> None:
        """Begin at *now_s*, and move on by *step_s* at each reading, so that no two moments are one."""
        self.now_s: float = now_s
        self.step_s = step_s
        self.slept: list[float] = []
        """How long each sleep was to take, in seconds, in the order in which they began."""
        self._ends: list[float] = []

    def __call__(self) -> float:
        """Return the clock's reading, in seconds."""
        reading = self.now_s
        self.now_s += self.step_s
        return reading

    def advance(self, seconds: float) -> None:
        """
        Move the clock on.

        Raises:
            ValueError: *seconds* is below 0, and time doesn't run backwards.
        """
        if seconds < 0:
            raise ValueError(f"{seconds} is below 0; a clock goes forwards")
        self.now_s += seconds

    async def sleep(self, delay_s: float) -> None:
        """Let others go on, and return at once with the clock *delay_s* later than it was."""
        self.slept.append(delay_s)
        end = self.now_s + max(0.0, delay_s)
        self._ends.append(end)
        try:
            for _ in range(LOOP_TURNS):
                await asyncio.sleep(0)
            while min(self._ends) < end:  # noqa: ASYNC110 - an earlier sleep ends first
                await asyncio.sleep(0)
            self.now_s = max(self.now_s, end)
        finally:
            self._ends.remove(end)
