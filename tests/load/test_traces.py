"""Runs whose conversations arrive as a file says."""

from __future__ import annotations

from collections import Counter

import pytest

from replay.core.errors import DatasetError
from tests.data_tables import from_table
from tests.load.scenes import Server, play, talk

BEAT = {"kind": "fixed", "seconds": 0.15, "after": "question"}
"""Counted from the question before, so that how long an answer took is not in it."""


async def trace(folder, text, **more):
    (folder / "trace.csv").write_text(text)
    load = {"profile": "trace", "trace": "trace.csv", **more}
    return await play(folder, load, talks=[talk("a", 1), talk("b", 3), talk("c", 1)])


def due(run):
    found = {(r.conversation, r.depth): r.timing.scheduled_s for r in run.records() if r.timing}
    first = min(found.values())
    return {key: at - first for key, at in found.items()}


async def test_a_named_conversation_is_the_one_that_comes(tmp_path):
    run = await trace(tmp_path, "at_s,conversation\n0,c\n0.01,c\n0.02,\n0.03,c\n")
    assert Counter((r.conversation, r.source) for r in run.records()) == {
        ("c", None): 1,
        ("c~2", "c"): 1,
        ("c~3", "c"): 1,
        ("a", None): 1,
    }


async def test_gaps_are_the_users_think_times(tmp_path):
    run = await trace(tmp_path, "at_s,conversation,gaps_s\n0,b,0.2;0.05\n", think=BEAT)
    assert due(run) == {("b", 1): 0, ("b", 2): pytest.approx(0.2), ("b", 3): pytest.approx(0.25)}


async def test_where_gaps_end_the_scenarios_think_time_goes_on(tmp_path):
    run = await trace(tmp_path, "at_s,conversation,gaps_s\n0,b,0.02\n", think=BEAT)
    assert due(run) == {("b", 1): 0, ("b", 2): pytest.approx(0.02), ("b", 3): pytest.approx(0.17)}


async def test_gaps_that_a_drawn_conversation_has_no_turns_for_are_left(tmp_path):
    run = await trace(tmp_path, "at_s,gaps_s\n0,60;60;60\n")
    assert [(r.conversation, r.depth) for r in run.records()] == [("a", 1)]


@from_table
async def test_a_fault_of_the_file_is_reported_with_its_line_and_nothing_is_asked(tmp_path, text, words):
    server = Server()
    (tmp_path / "trace.csv").write_text(text)
    async with server.running() as address:
        with pytest.raises(DatasetError, match=words):
            await play(
                tmp_path,
                {"profile": "trace", "trace": "trace.csv"},
                address=address,
                talks=[talk("a", 1)],
            )
    assert server.asked == []
