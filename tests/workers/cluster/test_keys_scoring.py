"""``cluster.scoring``: each key where it matters, on a node of a cluster."""

from __future__ import annotations

import pytest

from replay.core.safety.consent import code_may_run
from replay.results.scoring import score_into
from replay.scenario.sections import ClusterSection
from replay.store.store import RunStore
from tests.scenario.keys import key, played, talk

TAKEN = """
import os
import ray

class Taken:
    is_neural = True
    signature = "taken"

    def observe(self, records):
        taken = ray.get_runtime_context().get_assigned_resources()
        return [[os.getpid(), taken["CPU"], taken["GPU"], len(records)] for _ in records]

    def combine(self, observed):
        return float(len(list(observed)))
"""


@key("cluster.scoring.actors", "cluster.scoring.batch", "cluster.scoring.cpus", "cluster.scoring.gpus")
@pytest.mark.long
async def test_so_many_actors_with_so_much_score_so_many_turns_at_a_time(tmp_path, cluster):
    talks = [talk(f"{n}", 2) for n in range(30)]
    run = await played(tmp_path, talks=talks)
    (tmp_path / "taken.py").write_text(TAKEN, "utf-8")
    node = cluster.add_node(num_cpus=1, num_gpus=1, resources={"taken": 1}, object_store_memory=80_000_000)
    section = {
        "address": cluster.address,
        "resources": {"taken": 0.1},
        "scoring": {"actors": 2, "batch": 5, "cpus": 0.25, "gpus": 0.5},
    }
    store = RunStore(run.folder, write=True)
    try:
        with code_may_run():
            choices = [run.scenario().scenario.scorers[0].model_copy(update={"name": "taken.py:Taken"})]
            score_into(store, choices, cluster=ClusterSection.model_validate(section))
    finally:
        store.close()
        cluster.remove_node(node)
    observed = run.scored()[1][choices[0].label].observed
    pids, cpus, gpus, together = zip(*observed, strict=True)
    assert len(set(pids)) == 2
    assert (set(cpus), set(gpus), set(together)) == ({0.25}, {0.5}, {6})
