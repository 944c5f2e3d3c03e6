"""
Who is told what happens in a run that is played, here or by workers and then read from its database; and who
plays it while it goes on: how far each process or node has come, how fast, and who was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any, Literal, NamedTuple

from replay.core.lifetimes import cancel_and_wait, in_thread
from replay.core.record import TurnRecord
from replay.play.engine import Observer
from replay.play.play import Play
from replay.results.late_drift import LateDrift
from replay.results.run_data import repeats_of
from replay.scenario.assembly import Assembly
from replay.store.schema import RECORD_COLUMNS, Row, row_record
from replay.store.store import RunStore

READ_EVERY_S = 0.1
_KEY = tuple(map(RECORD_COLUMNS.index, ("conversation", "system", "policy", "depth", "started_at", "done_s")))
_CONVERSATION, _SOURCE = map(RECORD_COLUMNS.index, ("conversation", "source"))


class FinishedPlay(NamedTuple):
    """The message that a play is over, with all of it in the run's database."""

    conversation: str
    """Its id in the data."""
    repeat: int
    system: str
    policy: str


class RunListeners:
    """Tells an *observer*, if there is one, and whoever detects drift in what is over."""

    def __init__(self, observer: Observer | None, late: LateDrift) -> None:
        self.observer: Observer | None = observer
        self.late: LateDrift = late

    def recorded(self, record: TurnRecord) -> None:
        if self.observer and not record.is_end:
            self.observer.recorded(record)

    def played(self, play: Play) -> None:
        self.late.played(play)
        if self.observer:
            self.observer.played(play)


class TurnFeed:
    """What workers record and play, in the order in which it comes, while they do."""

    def __init__(
        self,
        assembly: Assembly,
        store: RunStore,
        status: WorkerStatus,
        following: RunListeners,
        worker_of: Mapping[int, int],
        parts: int,
    ) -> None:
        """
        Begin after what *store* has now.

        Args:
            assembly: What is played.
            store: The run.
            status: Learns of each turn whose it is.
            following: Is told of all.
            worker_of: The number in *status* of who plays a part of the data, by that; it may change.
            parts: How many parts there are.
        """
        self._assembly = assembly
        self._store = store
        self._status = status
        self._following = following
        self._worker_of = worker_of
        self._repeats = repeats_of(store)
        self._part_of = {id: number % parts for number, id in enumerate(store.conversation_lengths())}
        self._last, self._last_key = store.last_row(), Row()
        for _, row in store.rows_from(self._last):
            self._last_key = _key(row)
        self._reading = asyncio.Lock()
        self._over: list[FinishedPlay] = []

    def play_over(self, play: FinishedPlay) -> None:
        """Note that *play* is over; whoever follows the run learns of it after its turns."""
        self._over.append(play)

    @asynccontextmanager
    async def read_again_and_again(self) -> AsyncIterator[None]:
        """Report new turns repeatedly while the block lasts, and once more at its end."""

        async def keep_reading() -> None:
            while True:
                await asyncio.sleep(READ_EVERY_S)
                await self.read()

        reading = asyncio.create_task(keep_reading())
        try:
            yield
        finally:
            await cancel_and_wait(reading)
            await self.read()

    async def read(self) -> None:
        """Tell what has come since the last time."""
        async with self._reading:
            over = tuple(self._over)
            rows, plays = await in_thread(lambda: (self._new_rows(), [self._play(one) for one in over]))
            self._tell(rows, plays, over)

    def _tell(
        self, rows: Sequence[tuple[int, Row]], plays: Sequence[Play | None], over: Sequence[FinishedPlay]
    ) -> None:
        del self._over[: len(over)]
        for rowid, row in rows:
            self._last, self._last_key = rowid, _key(row)
            part = self._part_of[row[_SOURCE] or row[_CONVERSATION]]
            self._status.count(self._worker_of[part])
            if self._following.observer:
                self._following.recorded(row_record(row))
        for play in plays:
            if play is not None:
                self._following.played(play)

    def _new_rows(self) -> Sequence[tuple[int, Row]]:
        rows = list(self._store.rows_from(self._last))
        # SQLite gives the number of a last row that was put aside to the next one.
        return rows[1:] if rows and (rows[0][0], _key(rows[0][1])) == (self._last, self._last_key) else rows

    def _play(self, over: FinishedPlay) -> Play | None:
        """Return the play that is *over*; None where nobody wants to know."""
        if self._following.observer is None and over.policy not in self._following.late.policies:
            return None
        (system,) = (one for one in self._assembly.systems if one.name == over.system)
        conversation = self._store.conversation(over.conversation)
        policy = self._assembly.asking[over.policy]
        play = Play(system=system, policy_name=over.policy, policy=policy, conversation=conversation)
        return self._repeats.of(play, over.repeat)


def _key(row: Row) -> Row:
    """Return by what a turn is told from another one, and from itself asked again."""
    return tuple(row[column] for column in _KEY)


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
    async def show_regularly(self, show: Callable[[Sequence[WorkerProgress]], None]) -> AsyncIterator[None]:
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
