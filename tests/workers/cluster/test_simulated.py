"""Conversations without recorded questions on the nodes of a cluster."""

from __future__ import annotations

from replay.runs.launch import run_async
from tests.users.test_goals import ASKS, TALK, VOUCHER, WHY, said, serving


class Watching:
    def __init__(self):
        self.turns = []

    def recorded(self, record):
        self.turns.append(record.asked)

    def played(self, play):
        pass


async def test_ends_come_from_nodes_as_turns_do_and_are_none(tmp_path, fake):
    watching = Watching()
    async with serving(said) as server:
        content = server.scenario(tmp_path, VOUCHER, TALK, cluster={})
        run = await run_async(content, runs=tmp_path / "runs", observer=watching)
    assert [record.asked for record in run.records()] == ["Hello, shop!", ASKS, WHY]
    assert [one.interventions[0].move for one in run.endings()] == ["given-up", "goal-reached"]
    assert sorted(watching.turns) == sorted(["Hello, shop!", ASKS, WHY])
