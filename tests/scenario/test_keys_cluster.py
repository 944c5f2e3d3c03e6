"""``cluster``: each key played where it matters, on nodes that are made up."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from replay.core.errors import RunStoppedError
from replay.report.notes import notes
from tests.scenario.keys import answers, key, outcomes, played, python, talk
from tests.waiting import until_async
from tests.workers.cluster.fake_ray import FakeRay, put_in_place
from tests.workers.test_plays import stored

LONG = 30


@pytest.fixture
def ray(monkeypatch) -> FakeRay:
    return put_in_place(monkeypatch)


def used(ray: FakeRay) -> Counter[str]:
    """How many actors were on each node."""
    return Counter(options["scheduling_strategy"].node_id for options in ray.options)


@key("cluster.address")
async def test_the_cluster_at_the_address_plays(tmp_path, ray):
    ray.add()
    run = await played(tmp_path, cluster={"address": "ray://head:10001"})
    assert outcomes(run) == ["answered"] * 3
    assert ray.given["address"] == "ray://head:10001"
    assert not ray.is_connected
    await played(tmp_path, cluster={})
    assert ray.given["address"] == "auto"


@key("cluster.per_node")
@pytest.mark.parametrize("actors", [1, 2])
async def test_each_node_has_so_many_actors(tmp_path, ray, actors):
    node = ray.add(CPU=2)
    run = await played(tmp_path, cluster={"per_node": actors})
    assert outcomes(run) == ["answered"] * 3
    assert used(ray) == {node: actors}


@key("cluster.cpus", "cluster.resources")
async def test_nodes_with_what_an_actor_takes_play(tmp_path, ray):
    ray.add(CPU=1, bot=1)
    ray.add(CPU=4)
    fit = ray.add(CPU=2, bot=1)
    await played(tmp_path, cluster={"cpus": 2, "resources": {"bot": 0.5}})
    assert used(ray) == {fit: 1}
    (options,) = ray.options
    assert (options["num_cpus"], options["resources"]) == (2, {"bot": 0.5})


@key("cluster.wait_s")
async def test_a_run_without_nodes_waits_so_long(tmp_path, ray, monkeypatch):
    ray.add()

    async def lost_at_once(self, *arguments):
        ray.remove(node)

    node = ray.nodes()[0]["NodeID"]
    monkeypatch.setattr("replay.workers.cluster.actor.ClusterActor.begin", lost_at_once)
    with pytest.raises(RunStoppedError, match=r"no node was left to play for 0\.05 s"):
        await played(tmp_path, cluster={"wait_s": 0.05})


@key("cluster.lost_sessions")
@pytest.mark.parametrize(
    ("lost_sessions", "said"),
    [("restart", "began anew"), ("abandon", "set aside with the outcome lost")],
)
async def test_what_a_lost_node_asked_of_a_system_that_keeps_the_history_begins_anew_or_is_set_aside(
    tmp_path, ray, lost_sessions, said
):
    lost, _ = ray.add(), ray.add()
    running = asyncio.create_task(
        played(
            tmp_path,
            talks=[talk(name, LONG) for name in "ab"],  # so that the node is lost in the middle of one
            system={"settings": {"history": "server", "delay_s": 0.005}},
            play={"concurrency": 2},
            cluster={"lost_sessions": lost_sessions},
        )
    )
    await until_async(lambda: stored(tmp_path) >= 4)
    ray.remove(lost)
    run = await running
    (remark,) = [note for note in notes(run.report(resamples=0)) if said in note]
    assert remark.startswith("1 of them")
    ended = {name: [r.outcome for r in run.records() if r.conversation == name] for name in "ab"}
    whole = [name for name, found in ended.items() if found == ["answered"] * LONG]
    if lost_sessions == "restart":
        assert len(whole) == 2
    else:
        assert len(whole) == 1
        (only,) = [r for r in run.records() if r.failed]
        assert only.outcome == "lost"
        assert only.error.startswith("s: node host0 (10.0.0.0, 00000000) was lost, and with it the session")
        assert not run.superseded(), "what was answered stays"


@key("cluster.files")
async def test_files_that_no_setting_names_go_to_the_nodes_where_they_are_asked_for(tmp_path, ray):
    ray.add()
    code = """
from pathlib import Path
def answer(question):
    return " ".join(sorted(path.name for path in Path(__file__).parent.iterdir() if path.is_file()))
"""
    bot = python(tmp_path, code)
    for name in ("words.txt", "more.txt", "other.csv"):
        (tmp_path / name).write_text("word")
    assert set(answers(await played(tmp_path, system=bot, cluster={}))) == {"bot.py"}
    run = await played(tmp_path, system=bot, cluster={"files": ["*.txt"]})
    assert set(answers(run)) == {"bot.py more.txt words.txt"}
