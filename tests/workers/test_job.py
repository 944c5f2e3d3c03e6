"""What of a scenario a process or a node is given to play."""

from __future__ import annotations

import yaml

from replay.scenario.assembly import assemble
from replay.workers.job import WorkerJob


def test_who_plays_needs_nothing_of_what_is_done_with_the_answers(tmp_path):
    content = {
        "name": "n",
        "data": {"path": "nowhere.jsonl"},
        "systems": [{"name": "s", "adapter": "scripted"}],
        "policies": ["gold"],
        "scorers": ["missing.py:Scorer"],
        "judges": [{"correctness": {"adapter": "missing.py:Model"}}],
        "assert": [{"metric": "f1", "min": 0.5}],
        "telemetry": {"file": "missing/spans.jsonl"},
        "load": {"conversations": 3, "slo": {"latency_p95": 1}},
    }
    here = {"text": yaml.safe_dump(content), "source": "s.yaml", "folder": str(tmp_path)}
    share = {"worker": 0, "workers": 1, "limits_among": 1}
    job = WorkerJob(**here, run="r", run_folder="runs/r", start=0.0, started_at=0.0, **share)
    assembly = assemble(job.scenario(), data_is_read=True)
    assert [assembly.scorers, assembly.judges, assembly.objectives] == [{}, (), ()]
    assert assembly.file.scenario.telemetry.traceparent, "asks say their place in a trace all the same"
