"""Load runs that the nodes of a cluster offer: each its share, at the moments of one process."""

from __future__ import annotations

import asyncio
import platform
from collections import Counter
from itertools import pairwise

import pytest

from replay.core.errors import ReplayError
from replay.runs.cluster import actors
from replay.runs.run import Run, newest_run
from replay.runs.stress import process_players, sent_inputs
from tests.runs.stress.scenes import Server, level_events, play, talk
from tests.waiting import others_first

NODES = {"resources": {}}
"""The section ``cluster`` of a scenario that joined nodes play."""
TALKS = [talk(name, 2) for name in "abcdefg"]


@pytest.fixture
def three(joined, monkeypatch):
    """A cluster of three nodes, whose messages take no time."""
    monkeypatch.setattr(process_players, "BEFORE_NODES_S", 0.05)
    joined.add()
    return joined


def dues(run: Run) -> list[float]:
    """When turns were due, in seconds since the first."""
    found = sorted(record.timing.scheduled_s for record in run.records() if record.timing)
    return [due - found[0] for due in found]


async def test_arrivals_of_three_nodes_are_those_of_one_process(three, tmp_path):
    """Due times come from numbers alone, so that nothing but the last digits may differ."""
    runs = {}
    for name, more in (("here", {}), ("there", {"cluster": NODES})):
        (tmp_path / name).mkdir()
        load = {"profile": "constant", "rate": 50, "conversations": 20}
        runs[name] = await play(tmp_path / name, load, talks=[talk("a", 1)], **more)
    assert dues(runs["there"]) == pytest.approx([number / 50 for number in range(20)], abs=1e-6)
    assert dues(runs["there"]) == pytest.approx(dues(runs["here"]), abs=1e-6)
    (level,) = level_events(runs["there"])
    assert [one["conversations"] for one in level["generators"]] == [7, 7, 6], "each third from each"


async def test_nodes_need_no_file_of_the_data_nor_of_the_trace(three, tmp_path, monkeypatch):
    """Conversations and arrivals come in slices; both files are gone before an actor begins."""
    monkeypatch.setattr(sent_inputs, "CONVERSATIONS", 2)
    monkeypatch.setattr(sent_inputs, "ARRIVALS", 3)
    slices = []
    monkeypatch.setattr(actors, "for_all_nodes", lambda value: slices.append(value) or value)
    start = actors.new_actor

    def without_files(*arguments):
        for name in ("talks.jsonl", "arrivals.csv"):
            (tmp_path / name).unlink(missing_ok=True)
        return start(*arguments)

    monkeypatch.setattr(actors, "new_actor", without_files)
    wanted = ["c", "a", "g", "e", "c"]
    lines = [f"{number / 100},{name}" for number, name in enumerate(wanted)]
    (tmp_path / "arrivals.csv").write_text("\n".join(["at_s,conversation", *lines]), "utf-8")
    load = {"profile": "trace", "trace": "arrivals.csv"}
    run = await play(tmp_path, load, talks=TALKS, cluster=NODES)
    assert not (tmp_path / "talks.jsonl").exists()
    begun = Counter(r.recorded_conversation for r in run.records() if r.depth == 1)
    assert begun == Counter(wanted)
    assert len(slices) == 1 + 4 + 2, "the first is of other files"


async def test_a_closed_load_has_no_more_nodes_than_users(three, tmp_path):
    server = Server()
    async with server.running() as address:
        load = {"concurrency": 2, "conversations": 9}
        run = await play(tmp_path, load, address=address, talks=TALKS, cluster=NODES)
    assert len(three.actors) == 2
    assert server.most <= 2
    assert len(server.asked) == len(run.records()) == 18
    (level,) = level_events(run)
    assert [one["number"] for one in level["generators"]] == [0, 1]


async def test_levels_of_a_sweep_follow_each_other_on_the_same_nodes(three, tmp_path):
    load = {"profile": "constant", "duration_s": 0.1, "sweep": {"levels": [30, 60]}}
    run = await play(tmp_path, load, talks=[talk("a", 1)], cluster=NODES)
    assert len(three.actors) == 3
    levels = level_events(run)
    assert [sum(one["conversations"] for one in level["generators"]) for level in levels] == [3, 6]
    for level in levels:
        assert all(one["host"] == platform.node() for one in level["generators"])
        assert all(
            abs(one["clock"]["offset_s"]) <= one["clock"]["uncertainty_s"] for one in level["generators"]
        )
        assert all(one["clock_moved_s"] is not None for one in level["generators"])
    for before, after in pairwise(levels):
        assert after["began_s"] >= before["ended_s"]


async def test_a_lost_node_ends_the_run_with_all_that_was_answered(three, tmp_path):
    server = Server()
    async with server.running() as address:
        load = {"concurrency": 6, "duration_s": 600}
        running = asyncio.create_task(play(tmp_path, load, address=address, talks=TALKS, cluster=NODES))
        await server.until_asked(60)
        three.actors[1].kill()
        with pytest.raises(ReplayError, match=r"node .* was lost.*; what was answered until then is kept"):
            await running
    await others_first()
    run = Run(newest_run(tmp_path / "runs"))
    answered = run.outcomes()["answered"]
    assert server.answered - 6 <= answered <= server.answered
    (level,) = level_events(run)
    assert level["interrupted"]


async def test_two_nodes_of_a_real_cluster_offer_a_load(on_two_nodes, tmp_path, monkeypatch):
    """Over Ray's own calls and object store, from a folder that no actor looks into."""
    monkeypatch.setattr(sent_inputs, "CONVERSATIONS", 3)
    server = Server()
    load = {"profile": "constant", "rate": 40, "conversations": 21, "keep_turns": 20}
    async with server.running() as address:
        run = await play(tmp_path, load, address=address, talks=TALKS, cluster=on_two_nodes)
    assert len(server.asked) == 42
    assert run.outcomes() == {"answered": 42}
    assert len(run.records()) == 20, "ten of each, the rest in histograms"
    first_turns = [r.timing.scheduled_s for r in run.records() if r.depth == 1 and r.timing]
    grid = [(due - min(first_turns)) * 40 for due in first_turns]
    assert grid == pytest.approx([round(place) for place in grid], abs=1e-4), "each at its place"
    summary = run.load_summary(resamples=0)
    assert summary is not None
    (level,) = summary.levels
    assert (level.total.answered, level.total.tallied) == (42, 22)
    assert [(one.number, one.conversations) for one in level.played.generators] == [(0, 11), (1, 10)]
    for one in level.played.generators:
        assert one.clock is not None
        assert abs(one.clock.offset_s) <= one.clock.uncertainty_s, "it is this machine's clock after all"
        assert one.lateness is not None
        assert one.lateness.asks == 2 * one.conversations
