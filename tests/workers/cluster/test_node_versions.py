"""Nodes that have other versions than this program has: said in one sentence before anything is asked."""

from __future__ import annotations

import logging

import pytest

from replay.core.errors import InputError
from replay.workers.cluster import actor_pool, actors
from replay.workers.cluster.node_versions import distributions
from tests.load.scenes import Server, reply
from tests.scenario.keys import outcomes, played, python, scenario
from tests.waiting import until_async
from tests.workers.test_plays import TALKS, asking


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({"convreplay": "0.0.9"}, r"has convreplay 0\.0\.9, and this program convreplay \d"),
        ({"convreplay": None}, r"has no convreplay, and this program convreplay \d"),
        (
            {"Python": "3.9", "ray": "2.50.0"},
            r"has Python 3\.9, ray 2\.50\.0, and this program Python 3\.1\d, ray 2",
        ),
    ],
)
async def test_a_node_with_other_versions_is_refused_before_anything_is_asked(tmp_path, joined, there, said):
    node = joined.add()
    joined.installed[node] = there
    bot = python(tmp_path, "def answer(question): open(__file__ + '.asked', 'w')")
    with pytest.raises(
        InputError, match=rf"cluster: node host2 \(10\.0\.0\.2, 0{{8}}\) {said}.*; install the same"
    ):
        await played(tmp_path, system=bot, cluster={})
    assert not joined.actors


async def test_one_that_joins_later_is_left_out_with_a_warning(tmp_path, joined, caplog, monkeypatch):
    monkeypatch.setattr(actor_pool, "LOOKED_EVERY_S", 0.01)
    caplog.set_level(logging.WARNING, "replay")

    async def once_it_is_left_out(body, writer):
        if len(server.asked) == 1:
            joined.installed[joined.add()] = {"convreplay": "0.0.9"}
        await until_async(lambda: caplog.records)
        await reply(body, writer)

    server = Server(once_it_is_left_out)
    async with server.running() as address:
        run = await played(tmp_path, talks=TALKS, system=asking(address), cluster={})
    assert set(outcomes(run)) == {"answered"}
    assert len(joined.actors) == 2, "of the first two nodes"
    (record,) = (one for one in caplog.records if "node" not in one.fields)  # here nodes log as well
    assert record.getMessage() == "node left out"
    assert "convreplay 0.0.9" in record.fields["reason"]


def test_what_plug_ins_come_from_is_compared_too(tmp_path):
    assert distributions(scenario(tmp_path).scenario) == ["convreplay", "ray"]
    of = actors.installed(["convreplay", "pytest", "never-made"])
    assert list(of) == ["Python", "convreplay", "pytest", "never-made"]
    assert of["pytest"] == pytest.__version__
    assert of["never-made"] is None


def test_a_node_needs_nothing_of_ours_to_say_what_it_has():
    ray = pytest.importorskip("ray", reason='needs Ray: pip install "convreplay[ray]"')
    assert b"_make_function" in ray.cloudpickle.dumps(actors.installed), "by what it does, not by its name"
