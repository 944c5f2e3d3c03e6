"""The recorded answers as a system: what a user does with them is an error of this program's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.report.export import report_json
from replay.report.script_tables import intervention_notes
from replay.runs.launch import run_async
from replay.scenario.shipped import shipped_folder

PAGE = (Path(__file__).parents[2] / "docs" / "react.md").read_text("utf-8")


def lanes(data, *systems):
    return {
        "name": "control",
        "data": {"path": str(data)},
        "systems": list(systems),
        "policies": ["react"],
        "scorers": ["em"],
        "drift": {"nlp_workers": 0},
    }


@pytest.mark.long
async def test_the_report_names_the_control_and_its_rate_is_what_the_page_says(tmp_path):
    content = lanes(
        shipped_folder() / "conversations" / "*.jsonl",
        {"name": "control", "adapter": "scripted"},
        {"name": "other", "adapter": "scripted", "settings": {"answers": "other-gold"}},
    )
    run = await run_async(content, runs=tmp_path)
    report = run.report(resamples=0)
    found = {one["system"]: (one["control"], one["rows"][-1]) for one in report_json(report)["interventions"]}
    assert found["control"][0] == "recorded"
    assert (found["control"][1]["touched"], found["control"][1]["intents"]) == (0, 196)
    assert found["other"][0] == "references"
    assert found["other"][1]["occasions"] == {"drifted": 30}
    assert "(196 questions): none on the recorded answers" in PAGE
    assert "30 (15.3 %), all for drift, on the second references" in PAGE
    notes = " ".join(intervention_notes(report.interventions))
    assert "control, react: a user did something in 0 of 196 turns (0.0 %). It gave the recorded" in notes
    assert "other, react: a user did something in 30 of 196 turns (15.3 %). It gave recorded" in notes


async def test_a_system_that_says_anything_else_is_no_control(tmp_path):
    (tmp_path / "talks.jsonl").write_text(
        '{"id": "a", "turns": [{"question": "Who made it?", "gold_answer": "Ann."},'
        ' {"question": "When?", "gold_answer": "In 1921."}, {"question": "Why?"}]}\n'
    )
    script = {"name": "b", "adapter": "scripted", "settings": {"answers": ["Ann.", "In 1922.", "Yes."]}}
    right = {"name": "c", "adapter": "scripted", "settings": {"answers": ["Ann.", "In 1921.", "So."]}}
    run = await run_async(lanes(tmp_path / "talks.jsonl", script, right), runs=tmp_path / "runs")
    found = report_json(run.report(resamples=0))["interventions"]
    assert {one["system"]: one.get("control") for one in found} == {"b": None, "c": "recorded"}
