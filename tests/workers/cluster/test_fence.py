"""An actor that the program no longer fetches from, in virtual time."""

from __future__ import annotations

import asyncio

from replay.workers.cluster.transport import FENCE_S, NodeTransport
from tests.virtual_time import in_virtual_time, now
from tests.waiting import others_first


@in_virtual_time
async def test_an_actor_that_nothing_is_fetched_from_begins_nothing_until_something_is():
    wire = NodeTransport()
    await wire.give()
    await asyncio.sleep(FENCE_S - 2)
    at = now()
    await wire.wait_reachable()
    assert now() == at, "what is fetched now and then keeps nobody waiting"
    await asyncio.sleep(2.5)
    going_on = asyncio.create_task(wire.wait_reachable())
    await others_first()
    assert not going_on.done()
    fetching = asyncio.create_task(wire.give())
    await going_on
    assert now() == at + 2.5
    await fetching
