"""An actor that the program no longer fetches from, in virtual time."""

from __future__ import annotations

import asyncio

from replay.runs.cluster.wires import FENCE_S, NodeWire
from tests.virtual_time import in_virtual_time, now
from tests.waiting import others_first


@in_virtual_time
async def test_an_actor_that_nothing_is_fetched_from_begins_nothing_until_something_is():
    wire = NodeWire()
    await wire.give()
    await asyncio.sleep(FENCE_S - 2)
    at = now()
    await wire.in_touch()
    assert now() == at, "what is fetched now and then keeps nobody waiting"
    await asyncio.sleep(2.5)
    going_on = asyncio.create_task(wire.in_touch())
    await others_first()
    assert not going_on.done()
    fetching = asyncio.create_task(wire.give())
    await going_on
    assert now() == at + 2.5
    await fetching
