"""Who is busy when, in one level, by a clock of the tests' own; the conversations only wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat

import pytest

from replay.play.load.generator import LEAD_S, BusyTime, UserSession, play_level
from replay.play.load.level import Level, LevelOutcome, share_of, together
from replay.play.play import Pacer
from tests.virtual_time import in_virtual_time, now
from tests.waiting import takes, until_async


@dataclass(slots=True)
class Crowd:
    """Conversations of *turns* turns, each of which is answered after *answer_s*."""

    turns: int = 2
    answer_s: float = 0.002
    asked: list[float] = field(default_factory=list)
    """When each turn was due, in seconds since the beginning."""
    sent: list[float] = field(default_factory=list)
    inside: int = 0
    most: int = 0
    answered: asyncio.Event | None = None
    """Where it is set, nothing is answered before it is."""
    at_ask: Callable[[], None] | None = None
    begun: float = 0.0

    async def talk(self, pace: Pacer) -> None:
        due = done = None
        for depth in range(1, self.turns + 1):
            due = await pace.next_due(depth, due, done)
            if due is None:
                return
            self.asked.append(due - self.begun)
            self.sent.append(now() - self.begun)
            self.inside += 1
            self.most = max(self.most, self.inside)
            if self.at_ask:
                self.at_ask()
            if self.answered is not None:
                await self.answered.wait()
            await takes(self.answer_s)
            self.inside -= 1
            done = now()

    def sessions(
        self, arrivals: Iterable[float | None] = repeat(None), gaps_s: tuple[float, ...] = ()
    ) -> Iterator[UserSession]:
        return (UserSession(play=self.talk, at_s=at_s, gaps_s=gaps_s) for at_s in arrivals)

    async def under(
        self, level: Level, sessions: Iterator[UserSession] | None = None, **more
    ) -> LevelOutcome:
        self.begun = now()
        sessions = self.sessions() if sessions is None else sessions
        async with asyncio.timeout(3600):
            return await play_level(level, sessions, start=self.begun, clock=now, **more)


def closed(users: int, **bounds) -> Level:
    return Level(index=0, value=float(users), is_open=False, start_s=0.0, **bounds)


def arriving(**bounds) -> Level:
    return Level(index=0, value=100.0, is_open=True, start_s=0.0, **bounds)


@in_virtual_time
async def test_a_closed_level_keeps_exactly_its_users_busy():
    crowd = Crowd(answer_s=0.0)
    seen: list[int] = []
    crowd.at_ask = lambda: seen.append(crowd.inside)
    outcome = await crowd.under(closed(5, conversations=100))

    assert crowd.most == 5
    assert seen.count(5) > 0.8 * len(seen), "nobody is idle but at the beginning and the end"
    assert outcome.conversations == 100
    assert len(crowd.asked) == 200
    assert outcome.cut == 0


@pytest.mark.parametrize(("users", "turns"), [(16, 1), (3, 7), (1, 40)])
@in_virtual_time
async def test_never_more_turns_are_asked_than_asked_for(users, turns):
    crowd = Crowd(turns=3, answer_s=0.0)
    outcome = await crowd.under(closed(users, turns=turns))
    assert len(crowd.asked) == turns
    assert outcome.conversations <= turns


@in_virtual_time
async def test_a_worker_whose_share_is_no_turn_asks_none():
    crowd = Crowd()
    level = closed(2, turns=1)
    for worker in range(2):
        await crowd.under(level.share(worker, 2))
    assert len(crowd.asked) == 1


@in_virtual_time
async def test_the_last_turn_wakes_those_who_think():
    """Otherwise a level would last as long as the longest think time under way."""
    crowd = Crowd(turns=2)
    begun = now()
    outcome = await crowd.under(closed(4, turns=4), crowd.sessions(gaps_s=(60.0,)))
    assert len(crowd.asked) == 4
    assert outcome.cut == 4
    assert now() - begun < 5


@in_virtual_time
async def test_the_last_turn_wakes_whoever_thinks_just_then():
    """Whose conversation is cut short by it, as the others' are."""
    crowd = Crowd(turns=3)
    slow = UserSession(play=crowd.talk, gaps_s=(3600.0, 3600.0))
    quick = UserSession(play=crowd.talk, gaps_s=(0.05, 0.05))
    outcome = await crowd.under(closed(2, turns=3), iter([slow, quick]))
    assert len(crowd.asked) == 3
    assert (outcome.conversations, outcome.cut) == (2, 2)
    assert crowd.sent[-1] <= outcome.ended_s <= now() - crowd.begun < 60


@in_virtual_time
async def test_nothing_is_asked_after_the_duration_and_what_is_under_way_is_waited_for():
    crowd = Crowd(turns=1_000_000, answer_s=0.03)
    outcome = await crowd.under(closed(3, warmup_s=0.05, duration_s=0.15))
    assert max(crowd.asked) < 0.2
    assert crowd.inside == 0
    assert outcome.ended_s >= max(crowd.sent) + 0.03
    assert (outcome.conversations, outcome.cut) == (3, 3)


@in_virtual_time
async def test_conversations_that_were_over_anyway_are_not_counted_as_cut():
    crowd = Crowd(turns=1, answer_s=0.05)
    outcome = await crowd.under(closed(2, duration_s=0.12))
    assert outcome.cut == 0
    assert outcome.conversations == len(crowd.asked)


@in_virtual_time
async def test_a_ramp_lets_the_users_come_one_after_the_other():
    crowd = Crowd(turns=1_000_000, answer_s=0.005)
    users: list[tuple[float, int]] = []
    crowd.at_ask = lambda: users.append((now() - crowd.begun, crowd.inside))
    await crowd.under(closed(4, ramp_s=0.2, warmup_s=0.2, duration_s=0.1))
    assert max((inside for at, inside in users if at < 0.05), default=1) == 1
    assert max((inside for at, inside in users if at < 0.1), default=1) <= 2
    assert max(inside for at, inside in users if at > 0.2) == 4


@in_virtual_time
async def test_a_ramp_longer_than_the_level_does_not_prolong_it():
    crowd = Crowd()
    await crowd.under(closed(2, ramp_s=60.0, duration_s=0.05))
    assert now() - crowd.begun < 5


@in_virtual_time
async def test_nobody_is_busy_before_the_level_begins():
    """Several processes get it a moment before; what is due before the beginning is not in the level."""
    crowd = Crowd()
    level = Level(index=0, value=3.0, is_open=False, start_s=0.1, conversations=3)
    await crowd.under(level)
    assert len(crowd.asked) == 6
    assert min(crowd.asked) >= 0.1


@in_virtual_time
async def test_arrivals_happen_whatever_the_system_does():
    crowd = Crowd(turns=1)
    crowd.answered = asyncio.Event()
    asyncio.get_running_loop().call_later(0.3, crowd.answered.set)
    arrivals = [number / 100 for number in range(20)]
    outcome = await crowd.under(arriving(), crowd.sessions(arrivals))
    assert crowd.most == 20, "they pile up while nothing is answered"
    assert crowd.asked == pytest.approx(arrivals)
    assert max(crowd.sent) < 0.3
    assert outcome.delayed == 0


@in_virtual_time
async def test_a_conversation_is_begun_early_and_asks_on_time():
    """Its first turn is planned before it is due, so that planning is not the system's time."""
    begun: list[float] = []

    async def talk(pace: Pacer) -> None:
        begun.append(now() - crowd.begun)
        await crowd.talk(pace)

    crowd = Crowd(turns=1)
    await crowd.under(arriving(), iter([UserSession(play=talk, at_s=0.2)]))
    assert 0.2 - LEAD_S <= begun[0] < 0.2
    assert crowd.asked == [pytest.approx(0.2)]
    assert crowd.sent[0] >= 0.2


@in_virtual_time
async def test_who_came_before_the_end_is_asked_however_late_the_generator_is():
    """Left out, the very arrivals that a stall of this machine delays would be missing."""
    crowd = Crowd(turns=1)
    loop = asyncio.get_running_loop()

    def stand_still() -> None:
        loop.now += 5.0

    loop.call_later(0.055, stand_still)
    outcome = await crowd.under(arriving(duration_s=0.2), crowd.sessions(n / 100 for n in range(40)))
    assert crowd.asked == pytest.approx([n / 100 for n in range(20)])
    assert outcome.conversations == 20
    assert max(crowd.sent) > 5


@in_virtual_time
async def test_who_waits_for_room_till_after_the_end_does_not_begin():
    crowd = Crowd(turns=1, answer_s=3.0)
    arrivals = [number / 100 for number in range(8)]
    outcome = await crowd.under(arriving(duration_s=0.1), crowd.sessions(arrivals), max_open=5)
    assert (len(crowd.asked), outcome.delayed) == (5, 1)


@in_virtual_time
async def test_arrivals_beyond_max_open_wait_and_are_counted():
    crowd = Crowd(turns=1)
    crowd.answered = asyncio.Event()
    crowd.at_ask = lambda: crowd.answered.set() if now() - crowd.begun > 0.1 else None
    asyncio.get_running_loop().call_later(0.15, crowd.answered.set)
    arrivals = [number / 100 for number in range(8)]
    outcome = await crowd.under(arriving(), crowd.sessions(arrivals), max_open=5)
    assert crowd.most == 5
    assert outcome.delayed == 3
    assert crowd.asked == pytest.approx(arrivals), "they were due when they came"
    assert crowd.sent[-1] > 0.15


@in_virtual_time
async def test_arrivals_end_with_the_last_conversation_that_may_begin():
    """Nobody waits for an arrival that is not let in."""
    crowd = Crowd(turns=1)
    await crowd.under(arriving(conversations=2), crowd.sessions([0.0, 0.01, 3600.0]))
    assert len(crowd.asked) == 2
    assert now() - crowd.begun < 5


@in_virtual_time
async def test_a_turn_follows_the_answer_by_its_think_time():
    crowd = Crowd(turns=3, answer_s=0.02)
    await crowd.under(closed(1, conversations=1), crowd.sessions(gaps_s=(0.03, 0.0)))
    first, second, third = crowd.asked
    assert second - first >= 0.05
    assert 0.02 <= third - second < second - first
    assert all(sent >= due for sent, due in zip(crowd.sent, crowd.asked, strict=True))


@in_virtual_time
async def test_after_question_turns_keep_a_beat_that_a_slow_system_cannot_stretch():
    crowd = Crowd(turns=3, answer_s=0.1)
    await crowd.under(closed(1, conversations=1), crowd.sessions(gaps_s=(0.03, 0.03)), after="question")
    first, second, third = crowd.asked
    assert (second - first, third - second) == pytest.approx((0.03, 0.03))
    assert crowd.sent[1] - second >= 0.07, "asked late, since the answer before was not there"


@in_virtual_time
async def test_a_fault_in_one_conversation_ends_the_level_as_itself():
    async def broken(pace: Pacer) -> None:
        await pace.next_due(1, None, None)
        raise ZeroDivisionError

    crowd = Crowd(turns=1_000_000)
    sessions = iter([UserSession(play=crowd.talk), UserSession(play=broken)])
    with pytest.raises(ZeroDivisionError):
        await crowd.under(closed(2, duration_s=5.0), sessions)


@in_virtual_time
async def test_a_level_can_be_cancelled_while_everybody_waits():
    crowd = Crowd(turns=2)
    sessions = crowd.sessions(gaps_s=(60.0,))
    task = asyncio.create_task(crowd.under(closed(50, duration_s=600.0), sessions))
    await until_async(lambda: len(crowd.asked) == 50)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not [other for other in asyncio.all_tasks() if other is not asyncio.current_task()]


@pytest.mark.parametrize(("total", "workers"), [(0, 3), (1, 4), (10, 3), (7, 7), (1000, 64)])
def test_shares_are_the_whole_and_alike(total, workers):
    shares = [share_of(total, worker, workers) for worker in range(workers)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


@in_virtual_time
async def test_what_several_processes_did_is_added_up():
    crowd = Crowd(turns=2, answer_s=0.0)
    level = closed(3, conversations=7)
    parts = [await crowd.under(level.share(worker, 2)) for worker in range(2)]
    whole = together(parts)
    assert whole.conversations == 7
    assert whole.ended_s == max(part.ended_s for part in parts)
    assert [one.conversations for one in whole.generators] == [part.conversations for part in parts]
    assert {one.lag for one in whole.generators} == {None}, "nobody was asked over a wire"


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
