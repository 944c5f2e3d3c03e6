"""The setting ``drift.match``, which belongs to the published rule."""

from __future__ import annotations

import pytest

from replay.core.errors import ScenarioError
from replay.runs.launch import load_scenario
from replay.scenario.assembly import assemble


def test_em_belongs_to_the_published_rule(tmp_path):
    (tmp_path / "talk.jsonl").write_text('{"id": "t", "turns": [{"question": "Who?"}]}', "utf-8")
    scenario = {
        "name": "x",
        "data": {"path": str(tmp_path / "talk.jsonl")},
        "systems": [{"name": "s", "adapter": "extractive"}],
        "policies": ["rewrite"],
        "drift": {"match": "em", "mode": "evalconvqa"},
    }
    (signature,) = [p.signature for p in assemble(load_scenario(scenario)).policies.values()]
    assert "drift:evalconvqa-2+em" in signature
    scenario["drift"] = {"match": "em"}
    with pytest.raises(ScenarioError, match="needs mode: evalconvqa"):
        assemble(load_scenario(scenario))
