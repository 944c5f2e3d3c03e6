"""Runs whose conversations arrive whatever the system does; coordinated omission; think times."""

from __future__ import annotations

import asyncio

from tests.load.scenes import Body, Server, play_at, reply, responses, talk
from tests.waiting import hold_up

ONE_TURN = [talk("a", 1)]


class Stalling(Server):
    """
    Answers at once, but from its tenth ask on nothing at all, for *stall_s* or until the ask number *until*.
    """

    def __init__(self, stall_s: float | None = None, *, until: int | None = None) -> None:
        super().__init__(self._reply_late)
        self._stall_s = stall_s
        self._until = until
        self._awake: asyncio.Event | None = None
        self.held: list[Body] = []

    async def _reply_late(self, body: Body, writer: asyncio.StreamWriter) -> None:
        if len(self.asked) == 10:
            self._awake = asyncio.Event()
            if self._stall_s is not None:
                asyncio.get_running_loop().call_later(self._stall_s, self._awake.set)
        if self._awake is not None and not self._awake.is_set():
            self.held.append(body)
            if len(self.asked) == self._until:
                self._awake.set()
            await self._awake.wait()
        await reply(body, writer)


async def test_a_closed_loop_would_have_hidden_the_stall(tmp_path):
    """Coordinated omission: the stalled user asks nothing, so one ask is slow and ninety never were."""
    loads = {
        "closed": ({"concurrency": 1, "turns": 100}, Stalling(0.3)),
        "open": ({"profile": "constant", "rate": 100, "conversations": 100}, Stalling(until=60)),
    }
    held, slow = {}, {}
    for name, (load, server) in loads.items():
        folder = tmp_path / name
        folder.mkdir()
        run = await play_at(server, folder, load, talks=ONE_TURN)
        held[name] = len(server.held)
        slow[name] = sum(seconds > 0.1 for seconds in responses(run))
        assert len(server.asked) == 100
    assert held == {"closed": 1, "open": 51}
    assert slow["open"] >= 40


async def test_how_late_the_generator_was_is_recorded(tmp_path):
    """The loop is kept busy for a while; what was due meanwhile is sent late and known to be."""

    async def busy(body: Body, writer: asyncio.StreamWriter) -> None:
        if len(server.asked) == 10:
            hold_up(0.2)  # the generator lives on the same loop
        await reply(body, writer)

    server = Server(busy)
    load = {"profile": "constant", "rate": 100, "conversations": 40}
    run = await play_at(server, tmp_path, load, talks=ONE_TURN)
    late = [record.timing.lateness_s for record in run.records() if record.timing]
    assert min(late) >= 0
    assert max(late) > 0.1
    (level,) = run.load_summary(resamples=0).levels
    assert any("the generator was late" in warning for warning in level.warnings)
