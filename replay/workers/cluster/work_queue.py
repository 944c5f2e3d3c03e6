"""
A run's conversations shared out among several processes.

A conversation goes, with all its systems and policies, to whichever process has room, and no other plays any
of it: so its gold side is resolved once, and what is in a cache is there for the next policy. What a lost
process had not finished is played by the others, from what is durable of it.

A process is only started once there is something for it to play.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, Protocol

from replay.play.engine import SharedIterator
from replay.play.first_failure import first_failure, gather_or_cancel
from replay.play.load.level import share_of
from replay.play.play import Play
from replay.store.schema import to_json
from replay.workers.cluster.rpc import PeerGoneError
from replay.workers.cluster.worker_handle import WorkerHandle
from replay.workers.status import WorkerStatus

Group = list[Play]
"""Plays of one conversation."""


@dataclass(frozen=True, slots=True)
class LostWorker:
    """A process that is gone."""

    child: WorkerHandle
    why: str
    """A sentence."""
    begun: Group
    """What it was playing."""
    waiting: Group
    """What it was still to play."""

    @property
    def plays(self) -> Group:
        return [*self.begun, *self.waiting]


class Crew(Protocol):
    """The processes that play."""

    def members(self) -> AsyncIterator[WorkerHandle]:
        """Those there are, and each that joins later; not started yet."""
        ...

    async def joined(self, error: PeerGoneError) -> None:
        """
        Return when one has joined after all were gone, the last by *error*.

        Raises:
            RunStoppedError: none will.
        """
        ...


async def play_in_processes(
    plays: Iterator[Play],
    pool: Crew,
    *,
    concurrency: int,
    who: WorkerStatus,
    played: Callable[[Play], None],
    lost: Callable[[LostWorker], Group],
    ended: Callable[[Any], None],
) -> None:
    """
    Let the *pool* play everything that *plays* yields, *concurrency* conversations at a time together.

    *who* learns who plays what. *played* is told of each play that is over. *lost* is told of a process that
    is gone, and says what is left of its plays. It is called in a thread, as *plays* is advanced, and never
    at the same time. *ended* is given what a process that was started has to say at its end, if it can say
    anything.

    Raises:
        RunStoppedError: all processes are gone.
        ReplayError: the run could not go on.
    """
    deal = _WorkQueue(plays)
    hands: list[_WorkerSlots] = []
    there: set[WorkerHandle] = set()
    """Who has joined, and is not lost."""

    def share_out() -> None:
        for number, hand in enumerate(hands):
            hand.resize(share_of(concurrency, number, len(hands)))

    async def keep_playing(child: WorkerHandle) -> None:
        hand = _WorkerSlots(child, deal, who, played)
        if not await hand.draw():
            return
        hands.append(hand)
        who.joined(child.job.worker, child.name)
        share_out()
        try:
            with first_failure():
                await child.start()
                who.started(child.job.worker)
                await hand.keep_playing()
        except PeerGoneError as error:
            hands.remove(hand)
            who.lost(child.job.worker)
            await child.close()  # whatever it still does ends before others go on with it
            share_out()
            there.discard(child)
            loss = hand.lost(str(error))
            await deal.take_back(len(loss.plays), lambda: lost(loss))
            if not there:
                await pool.joined(error)
        finally:
            if (end := await child.end()) is not None:
                ended(end)

    children: list[WorkerHandle] = []

    async def let_join(tasks: asyncio.TaskGroup) -> None:
        async for child in pool.members():
            children.append(child)
            there.add(child)
            tasks.create_task(keep_playing(child))

    try:
        with first_failure():
            async with asyncio.TaskGroup() as tasks:
                joining = tasks.create_task(let_join(tasks))
                await deal.finished.wait()
                joining.cancel()
    finally:
        await gather_or_cancel(child.close() for child in children)


def packed(play: Play) -> tuple[str, str, dict[str, Any]]:
    """*play* for another process, which has system and policy of its own: system's name, JSON, the rest."""
    kept = (field.name for field in fields(play) if field.name not in ("system", "policy", "conversation"))
    # As JSON it takes a tenth of the time that a pickle of it takes, which is a tenth of what a turn costs.
    return play.system.name, to_json(play.conversation), {name: getattr(play, name) for name in kept}


class _WorkerSlots:
    """What one process has to play."""

    def __init__(
        self, child: WorkerHandle, deal: _WorkQueue, who: WorkerStatus, played: Callable[[Play], None]
    ) -> None:
        self._child = child
        self._deal = deal
        self._who = who
        self._played = played
        self._waiting: deque[Play] = deque()
        self._under_way: dict[int, Play] = {}
        self._slots, self._taken = 0, 0
        self._tasks: asyncio.TaskGroup | None = None

    async def draw(self) -> bool:
        """Whether there is something waiting, if need be of the next conversation."""
        if not self._waiting:
            self._waiting.extend(await self._deal.next())
        return bool(self._waiting)

    def resize(self, slots: int) -> None:
        """From now on so many plays at a time; those beyond it are played to their end."""
        self._slots = slots
        while self._tasks and self._taken < slots:
            self._taken += 1
            self._tasks.create_task(self._keep_one_playing())

    async def keep_playing(self) -> None:
        """Have one play after another played in each slot, until there is none."""
        async with asyncio.TaskGroup() as self._tasks:
            self.resize(self._slots)

    async def _keep_one_playing(self) -> None:
        try:
            while self._taken <= self._slots and await self.draw():
                play = self._waiting.popleft()
                self._under_way[id(play)] = play
                self._who.given(self._child.job.worker, play)
                await self._child.call("play", *packed(play))
                del self._under_way[id(play)]
                self._who.over(play)
                self._deal.over(1)
                self._played(play)
        except BaseException:
            self._tasks = None  # whose other tasks are ending too
            raise
        self._taken -= 1

    def lost(self, why: str) -> LostWorker:
        """What is not known to be over, now that the process is gone."""
        return LostWorker(self._child, why, begun=list(self._under_way.values()), waiting=list(self._waiting))


class _WorkQueue:
    """What nobody has in hand, and how much somebody has."""

    def __init__(self, plays: Iterator[Play]) -> None:
        groups = (list(group) for _, group in groupby(plays, key=lambda play: play.conversation.id))
        self._groups = SharedIterator(groups)
        self._returned: deque[Group] = deque()
        self._out = 0
        self._changed = asyncio.Event()
        self.finished = asyncio.Event()
        """All is played."""

    async def next(self) -> Group:
        """
        The next conversation's plays; empty when there will be no more.

        While others still play, something may come back from them.
        """
        while True:
            if self._returned:
                group = self._returned.popleft()
            else:
                group = await anext(self._groups, [])
            self._out += len(group)
            if group:
                return group
            if not self._out:
                self.finished.set()
                return group
            await self._changed.wait()

    def over(self, plays: int) -> None:
        """So many are played."""
        self._out -= plays
        if not self._out:
            self._wake()

    async def take_back(self, plays: int, left: Callable[[], Group]) -> None:
        """Give out again what is *left* of so many *plays*."""
        rest = await self._groups.between(left)
        if rest:
            self._returned.append(rest)
        self.over(plays)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
