"""What docs/history.md and docs/logs.md show is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import replay
from replay.runs.launch import load_scenario
from replay.scenario.assembly import assemble
from tests.docs.shown_output import page
from tests.samples import SINGER


def test_the_policies_are_called_as_the_page_says(tmp_path: Path) -> None:
    text = page("history")
    (block,) = re.findall(r"```yaml\n(policies:.*?)```", text, re.DOTALL)
    (tmp_path / "t.jsonl").write_text('{"id": "c", "turns": [{"question": "Who?"}]}\n', "utf-8")
    scenario = {
        "name": "page",
        "data": {"path": str(tmp_path / "t.jsonl")},
        "systems": [{"name": "bot", "adapter": "extractive"}],
        **yaml.safe_load(block),
    }

    (said,) = re.findall(r"In tables these are (.*?)\. `last", text, re.DOTALL)
    assert list(assemble(load_scenario(scenario)).policies) == re.findall(r"`(.*?)`", said)


def test_the_systems_and_the_scenario_shown_are_such(tmp_path: Path) -> None:
    text = page("history")
    (systems,) = re.findall(r"```yaml\n(systems:.*?)```", text, re.DOTALL)
    (whole,) = re.findall(r"```yaml\n(name:.*?)```", text, re.DOTALL)
    (tmp_path / "locomo10.json").write_text("[]")
    scenario = yaml.safe_load(whole)
    scenario["data"]["path"] = str(tmp_path / "locomo10.json")
    assert [*assemble(load_scenario(scenario)).policies] == ["remembers", "last20", "forgets"]
    (tmp_path / "t.jsonl").write_text('{"id": "c", "turns": [{"question": "Who?"}]}\n', "utf-8")
    plain = {"name": "page", "data": {"path": str(tmp_path / "t.jsonl")}, "policies": ["pred"]}
    (memory,) = assemble(load_scenario({**plain, **yaml.safe_load(systems)})).systems
    assert (memory.adapter.history, memory.one_session) == ("server", False)


def test_the_page_on_logs_lists_every_key() -> None:
    with_gold, without = page("logs").split("## Without gold answers")
    log = replay.Conversation(id=SINGER.id, turns=SINGER.turns[:1])
    for part, found in ((with_gold, replay.drift([SINGER], [log])), (without, replay.leaning([log]))):
        rows = re.findall(r"^\| (`.*?) \|", part, re.MULTILINE)
        listed = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
        (row,) = found.rows()
        assert listed | {"not_judged"} == set(row)
