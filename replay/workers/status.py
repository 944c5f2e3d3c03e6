"""Who plays a run while it goes on: how far each process or node has come, how fast, and who was lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any, Literal

from replay.core.lifetimes import cancel_and_wait

State = Literal["starting", "playing", "lost"]
UPDATED_EVERY_S = 2.0
"""Rates are over about as long."""


@dataclass(slots=True, kw_only=True)
class WorkerProgress:
    """One that joined."""

    name: str
    state: State = "starting"
    turns: int = 0
    """Recorded so far."""
    turns_per_s: float = 0.0
    """Of late."""


class WorkerStatus:
    """Counts what each has recorded."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._players: dict[int, WorkerProgress] = {}
        self._looked = clock()
        self._turns: dict[int, int] = {}
        """Of each, at the last look."""

    def joined(self, number: int, name: str) -> None:
        """Note that the worker of that *number* is being started."""
        self._players[number] = WorkerProgress(name=name)

    def started(self, number: int) -> None:
        self._players[number].state = "playing"

    def lost(self, number: int) -> None:
        self._players[number].state = "lost"

    def count(self, number: int, turns: int = 1) -> None:
        """Add so many recorded *turns* to the worker of that *number*."""
        self._players[number].turns += turns

    def look(self) -> list[WorkerProgress]:
        """Return the progress of every worker so far, by number, with its rates since the last call."""
        now = self._clock()
        passed = max(now - self._looked, 1e-9)
        for number, player in self._players.items():
            player.turns_per_s = (player.turns - self._turns.get(number, 0)) / passed
            self._turns[number] = player.turns
        self._looked = now
        return [self._players[number] for number in sorted(self._players)]

    @asynccontextmanager
    async def shown(self, show: Callable[[Sequence[WorkerProgress]], None]) -> AsyncIterator[None]:
        """Call *show* with the progress now and then while the block lasts, and at its end."""

        async def keep_showing() -> None:
            while True:
                await asyncio.sleep(UPDATED_EVERY_S)
                show(self.look())

        showing = asyncio.create_task(keep_showing())
        try:
            yield
        finally:
            await cancel_and_wait(showing)
            for player in (players := self.look()):
                player.turns_per_s = 0.0
            show(players)


def as_fact(players: Iterable[WorkerProgress]) -> list[dict[str, Any]]:
    """Return *players* in the form stored in a run's database."""
    return [asdict(player) for player in players]


def in_one_line(players: Sequence[WorkerProgress]) -> str:
    """Return ``3 play (12 + 11 + 9/s), 1 starting, 1 lost``, rates in turns; empty if nobody joined yet."""
    playing = [player for player in players if player.state == "playing"]
    lost = sum(player.state == "lost" for player in players)
    starting = sum(player.state == "starting" for player in players)
    rates = " + ".join(f"{player.turns_per_s:.0f}" for player in playing)
    said = [f"{len(playing)} play{'s' if len(playing) == 1 else ''} ({rates}/s)"] if playing else []
    said += [f"{starting} starting"] if starting else []
    said += [f"{lost} lost"] if lost else []
    return ", ".join(said)
