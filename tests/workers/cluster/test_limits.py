"""Rate limits that actors share as they join and are lost, in virtual time."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings, strategies as st

from replay.core.asking.limits import LocalTokenBucket, RateLimit
from replay.play.load.level import share_of
from replay.workers.cluster.actor_pool import ActorLostError
from replay.workers.cluster.coordinator import LimitShares
from tests.virtual_time import in_virtual_time, now
from tests.waiting import takes
from tests.workers.cluster.stretches import most_within

PER_S = 1.0


def limit(asks, tokens):
    """One in virtual time, of which there are so many tokens at first."""
    made = RateLimit(asks, PER_S)
    made.tokens = LocalTokenBucket(tokens, PER_S, clock=now)
    return made


class Actor:
    """It asks as often as it may; messages to it take as long as *delay_s* draws."""

    def __init__(self, run, asks, delay_s):
        self.sent_s = []
        self._run = run
        self._limit = limit(asks, 0)
        self._delay_s = delay_s
        self._is_lost = asyncio.Event()
        self._asking = asyncio.create_task(self._keep_asking())

    async def call(self, method, index, among):
        assert method == "set_share"
        await takes(self._delay_s())
        share = share_of(self._limit.asks, index, among)
        tasks = [asyncio.create_task(one) for one in (self._limit.tokens.resize(share), self._is_lost.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        if self._is_lost.is_set():
            raise ActorLostError("lost")
        await takes(self._delay_s())

    def lose(self):
        self._is_lost.set()
        self._asking.cancel()

    async def _keep_asking(self):
        while True:
            await self._limit.wait()
            self.sent_s.append(now())
            self._run.sent_s.append(now())


class Run:
    def __init__(self, asks, *, asks_beside=False, delay_s=lambda: 0.002):
        self.sent_s = []
        self.own = limit(asks, asks)
        self._asks = asks
        self._delay_s = delay_s
        self._shares = LimitShares({"s": self.own}, asks_beside=asks_beside)
        self._tasks = []
        self.actors = []

    def join(self):
        self.actors.append(Actor(self, self._asks, self._delay_s))
        self._begin(self._join(self.actors[-1]))
        return self.actors[-1]

    def lose(self, actor):
        self.actors.remove(actor)
        actor.lose()
        self._begin(self._shares.leave(actor))

    async def _join(self, actor):
        try:
            await self._shares.join(actor)
        except ActorLostError:  # ``lose`` has seen to it
            assert actor not in self.actors

    def _begin(self, change):
        self._tasks.append(asyncio.create_task(change))

    def end(self):
        self._shares.end()

    def rate(self, since_s):
        """Asks a second since then, of what is allowed."""
        return sum(at_s > since_s for at_s in self.sent_s) / (now() - since_s) / self._asks

    @asynccontextmanager
    async def going_on(self):
        yield self
        for actor in list(self.actors):
            actor.lose()
        for task in self._tasks:
            if task.done():
                task.result()
            task.cancel()
        await asyncio.wait(self._tasks)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 8), st.sampled_from([0.0, 0.01, 0.3, 2.0]))
def test_whoever_joins_and_is_lost_no_stretch_of_time_has_more_asks_than_allowed(seed, asks, slowest_s):
    rng = random.Random(seed)

    @in_virtual_time
    async def check():
        async with Run(asks, delay_s=lambda: rng.uniform(0, slowest_s)).going_on() as run:
            run.join()
            for _ in range(8):
                await asyncio.sleep(rng.choice([0.0, 0.1, 1.5]))
                if len(run.actors) == 3 or (run.actors and rng.random() < 0.4):
                    run.lose(rng.choice(run.actors))
                else:
                    run.join()
            await asyncio.sleep(5)
        assert most_within(run.sent_s, PER_S) <= asks

    check()


@in_virtual_time
async def test_most_of_a_limit_can_be_used():
    async with Run(20).going_on() as run:
        for _ in range(3):
            run.join()
        await asyncio.sleep(3)
        since_s = now()
        await asyncio.sleep(30)
        assert 0.95 <= run.rate(since_s) <= 1.01
        counts = [sum(at_s > since_s for at_s in actor.sent_s) for actor in run.actors]
        assert counts == sorted(counts, reverse=True), "7, 7 and 6 a second"
        assert counts[0] - counts[2] <= 31


@in_virtual_time
async def test_what_a_lost_actor_had_is_there_for_the_others_once_its_asks_are_over():
    async with Run(4).going_on() as run:
        first, other = run.join(), run.join()
        await asyncio.sleep(5)
        run.lose(first)
        lost_s = now()
        await asyncio.sleep(10)
        assert len([at_s for at_s in other.sent_s if lost_s + 2 < at_s <= lost_s + 7]) >= 4 * 4
        assert most_within(run.sent_s, PER_S) <= 4


@in_virtual_time
async def test_where_nobody_asks_who_joins_waits_for_nobody():
    async with Run(4).going_on() as run:
        idle = run.join()
        idle._asking.cancel()
        await asyncio.sleep(10)
        joined_s, second = now(), run.join()
        await asyncio.sleep(0.5)
        assert second.sent_s
        assert second.sent_s[0] - joined_s < 0.1


@pytest.mark.parametrize("actors", [1, 2])
def test_this_program_has_a_share_where_it_asks_beside_them(actors):
    @in_virtual_time
    async def check():
        async with Run(9, asks_beside=True).going_on() as run:
            for _ in range(actors):
                run.join()
            await asyncio.sleep(3)
            waiting = [asyncio.create_task(run.own.wait()) for _ in range(9)]
            await asyncio.sleep(0.1)
            assert sum(task.done() for task in waiting) == share_of(9, 0, 1 + actors)
            for task in waiting:
                task.cancel()
            for actor in list(run.actors):
                run.actors.remove(actor)
                actor.lose()
            run.end()
            await asyncio.sleep(PER_S + 0.1)
            waiting = [asyncio.create_task(run.own.wait()) for _ in range(20)]
            await asyncio.sleep(0.1)
            assert sum(task.done() for task in waiting) == 9, "once nobody else plays, all is its own"
            for task in waiting:
                task.cancel()

    check()
