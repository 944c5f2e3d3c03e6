"""Load runs that the nodes of a cluster offer: each its share, at the moments of one process."""

from __future__ import annotations

import asyncio
import platform
from collections import Counter
from itertools import pairwise
from time import perf_counter

import pytest

from replay.core.errors import ReplayError, RunStoppedError
from replay.load import cluster_players
from replay.results.run import Run, newest_run
from replay.workers.cluster.actor import ClusterActor
from tests.adapters.servers import http
from tests.load.scenes import Body, Server, level_events, play, reply, talk
from tests.waiting import others_first
from tests.workers.cluster.far_node import far_node, skip_unless_clocks_can_differ

NODES = {"resources": {}}
"""The section ``cluster`` of a scenario that the fake's nodes play."""
TALKS = [talk(name, 2) for name in "abcdefg"]


@pytest.fixture
def three(fake, monkeypatch):
    """A cluster of three nodes, whose messages take no time."""
    monkeypatch.setattr(cluster_players, "BEFORE_LEVEL_S", 0.05)
    fake.add()
    return fake


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
    monkeypatch.setattr(cluster_players, "CONVERSATIONS", 2)
    monkeypatch.setattr(cluster_players, "ARRIVALS", 3)
    clock = ClusterActor.clock

    async def without_files(actor):
        for name in ("talks.jsonl", "arrivals.csv"):
            (tmp_path / name).unlink(missing_ok=True)
        return await clock(actor)

    monkeypatch.setattr(ClusterActor, "clock", without_files)
    wanted = ["c", "a", "g", "e", "c"]
    lines = [f"{number / 100},{name}" for number, name in enumerate(wanted)]
    (tmp_path / "arrivals.csv").write_text("\n".join(["at_s,conversation", *lines]), "utf-8")
    load = {"profile": "trace", "trace": "arrivals.csv"}
    run = await play(tmp_path, load, talks=TALKS, cluster=NODES)
    assert not (tmp_path / "talks.jsonl").exists()
    begun = Counter(r.recorded_conversation for r in run.records() if r.depth == 1)
    assert begun == Counter(wanted)
    assert len(three.stored) == 1 + 4 + 2, "the first is of other files"


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
    load = {"profile": "constant", "duration_s": 600, "conversations": 7, "sweep": {"levels": [300, 600]}}
    run = await play(tmp_path, load, talks=[talk("a", 1)], cluster=NODES)
    assert len(three.actors) == 3
    levels = level_events(run)
    begun = [[one["conversations"] for one in level["generators"]] for level in levels]
    assert begun == [[3, 2, 2]] * 2
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


async def test_failures_in_a_row_are_counted_over_all_nodes(three, tmp_path):
    async def fail(body: Body, writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"down", status="503 Service Unavailable"))
        await writer.drain()

    server = Server(fail)
    load = {"concurrency": 3, "duration_s": 600}
    async with server.running() as address:
        with pytest.raises(RunStoppedError, match=r'"s" brought 12 failures in a row \(play.stop_after\)'):
            await play(tmp_path, load, address=address, talks=TALKS, cluster=NODES, play={"stop_after": 12})
    assert 12 <= len(server.asked) <= 12 + 3
    (level,) = level_events(Run(newest_run(tmp_path / "runs")))
    assert "12 failures in a row" in level["stopped"]


@pytest.mark.long
async def test_two_nodes_of_a_real_cluster_offer_a_load(on_two_nodes, tmp_path, monkeypatch):
    """Over Ray's own calls and object store, from a folder that no actor looks into."""
    monkeypatch.setattr(cluster_players, "CONVERSATIONS", 3)
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
    assert (level.total.answered_turns, level.total.tallied) == (42, 22)
    assert [(one.number, one.conversations) for one in level.played.generators] == [(0, 11), (1, 10)]
    for one in level.played.generators:
        assert one.clock is not None
        assert abs(one.clock.offset_s) <= one.clock.uncertainty_s, "it is this machine's clock after all"
        assert one.lateness is not None
        assert one.lateness.asks == 2 * one.conversations


@pytest.mark.long
async def test_times_of_a_node_with_another_clock_are_those_of_the_program(cluster, tmp_path):
    """The server's clock is the program's: what came there is as far from its sending, whoever sent it."""
    skip_unless_clocks_can_differ()
    came: list[float] = []

    async def note(body: Body, writer: asyncio.StreamWriter) -> None:
        came.append(perf_counter())
        await reply(body, writer)

    ahead_s, server = 5000, Server(note)
    load = {"profile": "constant", "rate": 20, "conversations": 30}
    nodes = {"address": cluster.address, "wait_s": 300}
    import ray

    ray.init(address=cluster.address, log_to_driver=False)
    try:
        with far_node(cluster.address, ahead_s=ahead_s, resource="far"):
            async with server.running() as address:
                run = await play(tmp_path, load, address=address, talks=[talk("a", 1)], cluster=nodes)
    finally:
        ray.shutdown()
    (level,) = level_events(run)
    clocks = sorted((one["clock"] for one in level["generators"]), key=lambda clock: clock["offset_s"])
    wanted = [0, 0, ahead_s]
    for clock, offset_s in zip(clocks, wanted, strict=True):
        assert clock["offset_s"] == pytest.approx(offset_s, abs=clock["uncertainty_s"])
    sent = sorted(record.timing.sent_s for record in run.records() if record.timing)
    apart = [there - here for there, here in zip(sorted(came), sent, strict=True)]
    assert apart == pytest.approx([apart[0]] * 30, abs=ahead_s / 100)
