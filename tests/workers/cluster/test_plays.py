"""A run that the nodes of a Ray cluster play: the same records as from one process."""

from __future__ import annotations

import pytest

from tests.scenario.keys import played
from tests.workers.inside import contents
from tests.workers.test_plays import LEANING, WRONG


@pytest.fixture
def small(tmp_path):
    async def of(name, **more):
        return await played(
            tmp_path / name, talks=LEANING, system={"settings": WRONG}, policies=["pred", "rewrite"], **more
        )

    return of


async def test_the_nodes_of_a_cluster_give_the_records_of_one_process(small, on_two_nodes):
    here, there = await small("here"), await small("there", cluster=on_two_nodes)
    assert contents(here) == contents(there)
    assert len(contents(there)) == 24
    assert {r.drift.valid for r in there.records() if r.drift} == {True, False}, "drift matters here"
