"""
Offers a level's load: begins conversations when they are due and keeps their turns to their times.

Every ask keeps the moment it was due, whenever it is really sent, so that neither a stalled system nor a
late generator can hide: ``TurnRecord.timing`` has both (Tene, *How NOT to Measure Latency*, 2013, calls the
mistake coordinated omission). How busy this process is meanwhile is measured: one that never rests sends
late, and reads answers late.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from replay.core.load_record import GeneratorReport
from replay.play.event_loop import InFlightRequests, LoopLag, first_failure, worst
from replay.play.load.level import Level, LevelOutcome
from replay.play.play import Pacer


class BusyTime:
    """
    CPU time over time, within a window; a context manager around what is measured, within an event loop.

    The CPU time is that of all threads of this process, and not of other processes.
    """

    def __init__(
        self,
        window: tuple[float, float],
        clock: Callable[[], float],
        *,
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        """*window* is from and to, as readings of *clock*; it ends with the block at the latest."""
        self._window = window
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._marks: list[tuple[float, float]] = []
        self._timers: list[asyncio.TimerHandle] = []

    def __enter__(self) -> Self:
        loop, now = asyncio.get_running_loop(), self._clock()
        self._timers = [
            loop.call_later(max(0.0, moment - now), self._mark)
            for moment in self._window
            if moment < float("inf")
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for timer in self._timers:
            timer.cancel()
        if len(self._marks) == 1:
            self._mark()

    def _mark(self) -> None:
        self._marks.append((self._clock(), self._cpu_clock()))

    @property
    def share(self) -> float | None:
        """0 for a process that only waited, 1 for one that kept one core busy; None before the window."""
        if len(self._marks) < 2:
            return None
        (began, cpu_began), (ended, cpu_ended) = self._marks
        return (cpu_ended - cpu_began) / (ended - began) if ended > began else None


LEAD_S = 0.05
"""How long before its arrival a conversation is begun, so that its first turn is planned when it is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSession:
    """One user's conversation."""

    play: Callable[[Pacer], Coroutine[object, object, None]]
    """Plays it to its end."""
    at_s: float | None = None
    """Arrival, in seconds since the level began; None where a user comes as soon as there is room."""
    gaps_s: tuple[float, ...] = ()
    """Think time before turn 2, 3, ...; empty where nobody thinks."""


async def play_level(
    level: Level,
    sessions: Iterator[UserSession],
    *,
    start: float,
    clock: Callable[[], float],
    after: Literal["answer", "question"] = "answer",
    max_open: int = 10_000,
    asks: InFlightRequests | None = None,
) -> LevelOutcome:
    """
    Offer *level* with as many of *sessions* as it needs, and wait for the asks in progress at its end.

    Args:
        level: The level of load.
        sessions: Users' sessions; the iterator must not block.
        start: The reading of *clock* when the run started, in seconds.
        clock: A clock that runs as the event loop's does.
        after: Whether a user's think time begins with the ``answer`` or the ``question`` before.
        max_open: Conversations open at a time, at most, if conversations arrive on their own.
        asks: The requests in flight of the sessions' player, to measure the lag.

    Raises:
        ReplayError: the run could not go on; what was answered until then is in the player's sink.
    """
    began, ended = level.window_s
    busy = BusyTime((start + began, start + ended), clock)
    async with LoopLag(asks or InFlightRequests()) as lag:
        stage = _LevelState(level, clock, start, after)
        with busy, first_failure():
            async with asyncio.TaskGroup() as tasks:
                if level.is_open:
                    tasks.create_task(_arrive(stage, sessions, tasks, max_open))
                else:
                    assert level.value is not None
                    users = int(level.value)
                    for number in range(users):
                        tasks.create_task(_keep_coming(stage, sessions, level.ramp_s * number / users))
    report = GeneratorReport(
        host=platform.node(),
        conversations=stage.begun,
        busy=busy.share,
        lag=worst(lag.summaries().values()),
    )
    return LevelOutcome(
        ended_s=clock() - start,
        conversations=stage.begun,
        cut=stage.cut,
        delayed=stage.delayed,
        generators=(report,),
    )


class _LevelState:
    """What the conversations of a level share."""

    def __init__(
        self,
        level: Level,
        clock: Callable[[], float],
        start: float,
        after: Literal["answer", "question"],
    ) -> None:
        self.clock = clock
        self.start = start + level.start_s
        self.after = after
        self.begun = 0
        self.cut = 0
        self.delayed = 0
        self._end = float("inf") if level.end_s is None else start + level.end_s
        self._sessions_left = level.conversations
        self._turns_left = level.turns
        self._over = level.turns == 0  # a worker's share of very few
        self._waiting: set[asyncio.Task[object]] = set()

    def admits(self, moment: float) -> bool:
        """Return whether a turn that is due at *moment* is asked."""
        return not self._over and moment < self._end

    def begin(self, moment: float) -> bool:
        """Return whether one more conversation may begin that is due at *moment*; it counts as begun then."""
        if self.full or not self.admits(moment):
            return False
        if self._sessions_left is not None:
            self._sessions_left -= 1
        return True

    @property
    def full(self) -> bool:
        """Return whether as many conversations have begun as may."""
        return self._sessions_left == 0

    def count_turn(self) -> None:
        if self._turns_left is not None:
            self._turns_left -= 1
            if self._turns_left <= 0:
                self._over = True
                for task in self._waiting:
                    task.cancel()

    async def wait_until(self, moment: float) -> bool:
        """Wait for *moment*; False, and maybe earlier, when the level is over."""
        if moment > self.clock():
            task = asyncio.current_task()
            assert task is not None
            self._waiting.add(task)
            try:
                # Again, since uvloop rounds what is to be waited to milliseconds, half of the times down.
                # Below half of one it goes round without a pause; nobody is early.
                while (left_s := moment - self.clock()) > 0:  # noqa: ASYNC110 (time is no event)
                    await asyncio.sleep(left_s)
            except asyncio.CancelledError:
                if not self._over or task.uncancel() > 0:
                    raise
            finally:
                self._waiting.discard(task)
        return not self._over


@dataclass(slots=True)
class _SessionPacer:
    """When the turns of one session are due."""

    stage: _LevelState
    arrival: float | None
    gaps_s: tuple[float, ...]
    asked: bool = False
    ended: bool = False

    async def next_due(self, depth: int, due: float | None, done: float | None) -> float | None:
        stage = self.stage
        moment = self._due(depth, due, done)
        if not stage.admits(moment) or not await stage.wait_until(moment):
            self.ended = True
            return None
        if not self.asked:
            stage.begun += 1
        self.asked = True
        stage.count_turn()
        return moment

    def _due(self, depth: int, due: float | None, done: float | None) -> float:
        if due is None or done is None:
            return self.stage.clock() if self.arrival is None else self.arrival
        gap = self.gaps_s[depth - 2] if self.gaps_s else 0.0
        if self.stage.after == "question":
            return due + gap
        # Who doesn't think asks as soon as the question is there; planning it is not the system's time.
        return done + gap if gap else self.stage.clock()


async def _keep_coming(stage: _LevelState, sessions: Iterator[UserSession], after_s: float) -> None:
    """Play as one user who begins the next conversation when the one before is over."""
    moment = stage.start + after_s
    if not stage.admits(moment) or not await stage.wait_until(moment):
        return
    while stage.begin(stage.clock()):
        session = next(sessions, None)
        if session is None:
            return
        await _play_session(stage, session, None)


async def _arrive(
    stage: _LevelState, sessions: Iterator[UserSession], tasks: asyncio.TaskGroup, max_open: int
) -> None:
    """Play users who arrive when they are due, whatever the system does."""
    room = asyncio.Semaphore(max_open)
    full_until = float("-inf")
    for session in sessions:
        assert session.at_s is not None
        arrival = stage.start + session.at_s
        if not stage.admits(arrival) or not await stage.wait_until(arrival - LEAD_S):
            return
        begins = arrival  # however late this generator is: what came before the end is asked
        if room.locked():
            stage.delayed += 1
            await room.acquire()
            begins = full_until = stage.clock()
        else:
            await room.acquire()
            stage.delayed += arrival < full_until  # came while the one before it waited for room
        if not stage.begin(begins):
            return
        task = tasks.create_task(_play_session(stage, session, arrival))
        task.add_done_callback(lambda _: room.release())
        if stage.full:  # without waiting for an arrival that nobody wants
            return


async def _play_session(stage: _LevelState, session: UserSession, arrival: float | None) -> None:
    rhythm = _SessionPacer(stage, arrival, session.gaps_s)
    await session.play(rhythm)
    if rhythm.ended and rhythm.asked:
        stage.cut += 1
