"""
Politeness limits that nodes share: the wires and what goes over them are real, time is not.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from types import SimpleNamespace

import pytest
from hypothesis import given, settings, strategies as st

from replay.core.asking.rate_limit import LocalTokenBucket, RateLimit
from replay.workers.cluster.job import NodeJob
from replay.workers.cluster.leases import RateLimitLeases
from replay.workers.cluster.node import Node, serve_coordinator
from replay.workers.cluster.transport import ActorTransport
from replay.workers.cluster.worker_handle import WorkerHandle
from tests.virtual_time import in_virtual_time, now
from tests.workers.cluster.joined import JoinedActor
from tests.workers.cluster.stretches import most_within

pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')

PER_S = 1.0
SENT_S: list[float] = []
"""When each ask was sent, by all nodes."""


async def work(job, parent):
    """What a node does: it asks as often as it is told."""
    limit = RateLimit(1, 1.0)
    parent.lease({"s": limit}, job.worker)

    async def one():
        await limit.wait()
        SENT_S.append(now())

    async def ask(times, patience_s=None):
        async with asyncio.timeout(patience_s):
            await asyncio.gather(*(one() for _ in range(times)))

    await parent.serve(SimpleNamespace(ask=ask))


class Place:
    def __init__(self, actor):
        self.actor = actor

    async def open(self):
        node = self.actor.node
        node._playing = asyncio.create_task(serve_coordinator(__name__, node._wire))
        return ActorTransport(self.actor, lambda error: None)

    async def clock_offset(self):
        return None

    async def close(self):
        self.actor.kill()


def _job(number):
    nothing = dict.fromkeys(("text", "source", "folder", "run"), "")
    return NodeJob(**nothing, start=0.0, started_at=0.0, worker=number, workers=3)


class Nodes:
    """Three of them; messages take as long as *delay_s* draws."""

    def __init__(self, asks, delay_s):
        SENT_S.clear()
        limit = RateLimit(asks, PER_S)
        limit.tokens = LocalTokenBucket(asks, PER_S, clock=now)
        self.leases = RateLimitLeases({"s": limit})
        self.actors = [JoinedActor(Node(), delay_s) for _ in range(3)]
        self.children = [
            WorkerHandle(Place(actor), _job(number), self.leases, gone="gone")
            for number, actor in enumerate(self.actors)
        ]

    async def __aenter__(self):
        self._stack = AsyncExitStack()
        for child in self.children:
            self._stack.push_async_callback(child.close)
            await child.start()
        return self

    async def __aexit__(self, *_):
        await self._stack.aclose()

    async def ask(self, *times):
        await asyncio.gather(
            *(child.call("ask", n) for child, n in zip(self.children, times, strict=True)),
            return_exceptions=True,
        )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from([0.0, 0.01, 0.3, 2.0]))
def test_nodes_together_send_no_more_than_allowed_however_late_their_messages_come(seed, asks, slowest_s):
    rng = random.Random(seed)

    @in_virtual_time
    async def check():
        async with Nodes(asks, lambda: rng.uniform(0, slowest_s)) as nodes:
            await nodes.ask(*(rng.randrange(12) for _ in range(3)))
        assert most_within(SENT_S) <= asks

    check()


@in_virtual_time
async def test_most_of_a_limit_can_be_used():
    """Messages take 5 ms each way, twice as long as Ray's."""
    async with Nodes(20, lambda: 0.005) as nodes:
        began_s = now()
        await nodes.ask(200, 200, 200)
        took_s = now() - began_s
    assert len(SENT_S) == 600
    assert 29 * PER_S <= took_s <= 29 * PER_S / 0.95


@in_virtual_time
async def test_what_a_lost_node_had_leased_counts_as_spent_and_comes_back():
    async with Nodes(4, lambda: 0.01) as nodes:
        asking = asyncio.ensure_future(nodes.ask(50, 50, 50))
        await asyncio.sleep(5.015)
        assert len(SENT_S) >= 16
        nodes.actors[0].kill()
        nodes.leases.take_back(0)
        lost_s = now()
        await asking
    assert most_within(SENT_S) <= 4
    assert len([at_s for at_s in SENT_S if lost_s + 3 < at_s <= lost_s + 8.5]) >= 4 * 5, "all four are used"


@in_virtual_time
async def test_a_token_that_nobody_needs_any_more_is_there_for_the_others():
    async with Nodes(1, lambda: 0.01) as nodes:
        first, gives_up, last = nodes.children
        await first.call("ask", 1)
        asking = gives_up.call("ask", 1, 0.5), last.call("ask", 1)
        *_, error, answer = await asyncio.gather(*asking, return_exceptions=True)
        assert "TimeoutError" in str(error)
        assert answer is None
    assert len(SENT_S) == 2
    assert SENT_S[1] - SENT_S[0] < 1.1 * PER_S
