"""What one node is answered stops all of them: without Ray."""

from __future__ import annotations

import pytest

from replay.core.errors import RunStoppedError
from tests.adapters.servers import http
from tests.load.scenes import Server
from tests.scenario.keys import played
from tests.waiting import others_first, until_async
from tests.workers.test_plays import TALKS, asking, stored


async def refused(body, writer, status):
    writer.write(http(b"{}", status=status))
    await writer.drain()


async def test_failures_in_a_row_are_those_of_all_nodes(tmp_path, fake):
    async def down(body, writer):
        await refused(body, writer, "500 Internal Server Error")

    fake.add()
    server = Server(down)
    async with server.running() as address:
        play = {"concurrency": 3, "attempts": 1, "stop_after": 4}
        with pytest.raises(RunStoppedError, match="4 failures in a row"):
            await played(tmp_path, talks=TALKS, system=asking(address), play=play, cluster={})
    assert len(fake.actors) == 3
    assert len(server.asked) <= 4 + 2, "what the other two were just asking"


async def test_a_refused_key_stops_all_nodes_before_another_question_is_asked(tmp_path, fake):
    """The second node's question is not answered before the first one's key is refused."""
    fake.add()

    async def first_is_refused(body, writer):
        if body is server.asked[0]:
            await until_async(lambda: len(server.asked) == 3)
            await refused(body, writer, "401 Unauthorized")
        else:
            await until_async(lambda: all(actor.is_gone for actor in fake.actors))

    server = Server(first_is_refused)
    async with server.running() as address:
        play = {"concurrency": 3, "attempts": 1}
        with pytest.raises(RunStoppedError, match="refused us before it answered anything"):
            await played(tmp_path, talks=TALKS, system=asking(address), play=play, cluster={})
        await others_first()
    assert len(server.asked) == 3
    assert stored(tmp_path) == 0
