"""What a scenario names lies below its folder, unless whoever runs it allows more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from replay.core.errors import ScenarioError
from replay.runs.launch import load_scenario
from replay.scenario.assembly import assemble
from replay.scenario.reading import read_scenario

TALK = json.dumps({"id": "a", "turns": [{"question": "Who?", "gold_answer": "Bob."}]}) + "\n"
CODE = "class Echo:\n    signature = 'echo'\n    history = 'client'\n"


@pytest.fixture
def folder(tmp_path):
    """A scenario's folder, with files beside it that are none of its business."""
    inside = tmp_path / "scenario"
    inside.mkdir()
    for place in (tmp_path, inside):
        (place / "talks.jsonl").write_text(TALK)
        (place / "mine.py").write_text(CODE)
        (place / "answers.yaml").write_text("[Yes.]")
        (place / "prompt.txt").write_text("{{question}} {{answer}} {{gold_answers}}")
        (place / "trace.csv").write_text("at_s\n0\n")
    (inside / "linked.jsonl").symlink_to(tmp_path / "talks.jsonl")
    (inside / "linked").symlink_to(tmp_path)
    return inside


def scenario(**changes) -> dict:
    facts = {
        "name": "try",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": "echo", "adapter": "scripted", "settings": {"answers": "gold"}}],
        "policies": ["pred"],
        "drift": {"nlp_workers": 0},
    }
    return {**facts, **changes}


def written(folder: Path, **changes) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario(**changes)))
    return path


def system(**settings) -> list[dict]:
    return [{"name": "echo", "adapter": "scripted", "settings": settings}]


def judge(**settings) -> list[dict]:
    answers = {"adapter": "scripted", "settings": {"answers": "gold"}}
    return [{"correctness": {**answers, **settings}}]


PYTHON = {"name": "e", "adapter": "python"}
LEAVING = [
    ({"data": {"path": "../talks.jsonl"}}, "data.path"),
    ({"data": {"path": "../*.jsonl"}}, "data.path"),
    ({"data": {"path": "linked.jsonl"}}, "data.path"),
    ({"data": {"path": "linked/talks.jsonl"}}, "data.path"),
    ({"data": {"path": "/etc/hostname", "format": "csv"}}, "data.path"),
    ({"systems": system(answers="../answers.yaml")}, "systems[0].settings.answers"),
    ({"systems": [{"name": "e", "adapter": "../mine.py:Echo"}]}, "systems[0].adapter"),
    ({"systems": [{**PYTHON, "settings": {"target": "../mine.py:Echo"}}]}, "systems[0].settings"),
    ({"scorers": ["../mine.py:Echo"]}, "scorers[0]"),
    ({"policies": ["../mine.py:Echo"]}, "policies[0]"),
    ({"data": {"path": "talks.jsonl", "format": "../mine.py:Echo"}}, "data.format"),
    ({"drift": {"resolver": "../mine.py:Echo"}}, "drift.resolver"),
    ({"judges": judge(prompt="../prompt.txt")}, "judges[0].correctness.prompt"),
    ({"judges": judge(cache="../verdicts.db")}, "judges[0].correctness.cache"),
    ({"load": {"profile": "trace", "trace": "../trace.csv"}}, "load.trace"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "at"), LEAVING)
def test_a_file_outside_of_the_scenarios_folder_is_refused_by_its_key_path(folder, changes, at):
    with pytest.raises(ScenarioError, match="lies outside of the scenario's folder") as caught:
        assemble(read_scenario(written(folder, **changes)))
    assert at in [fault.path for fault in caught.value.faults]


def test_files_below_the_folder_are_used(folder):
    below = folder / "data" / "talks.jsonl"
    below.parent.mkdir()
    below.write_text(TALK)
    for path in ("talks.jsonl", "./data/*.jsonl", "data/../talks.jsonl", str(below)):
        assert assemble(read_scenario(written(folder, data={"path": path}))).paths


@pytest.mark.parametrize(("changes", "at"), LEAVING[:4])
def test_a_caller_who_allows_it_reads_what_lies_outside(folder, changes, at):
    assert assemble(read_scenario(written(folder, **changes), allow_outside=True)).paths


def test_a_mapping_is_its_callers_own_and_names_what_it_likes(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert assemble(load_scenario(scenario(data={"path": "../talks.jsonl"}))).paths


def test_other_faults_of_a_scenario_do_not_open_what_lies_outside(folder):
    with pytest.raises(ScenarioError) as caught:
        read_scenario(written(folder, data={"path": "../talks.jsonl"}, sed=1))
    assert {"sed", "data.path"} <= {fault.path for fault in caught.value.faults}


def replay_cli(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "replay", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=60, env={**os.environ},
    )  # fmt: skip


def test_the_command_line_allows_it_for_one_command(folder):
    written(folder, data={"path": "../talks.jsonl"})
    refused = replay_cli(folder, "run", "scenario.yaml")
    assert refused.returncode == 2
    assert "replay --allow-outside" in refused.stderr
    assert not (folder / "runs").exists()
    assert replay_cli(folder, "--allow-outside", "run", "scenario.yaml").returncode == 0
    again = replay_cli(folder, "resume", str(next((folder / "runs").iterdir())))
    assert again.returncode == 0, again.stderr


def test_a_scenario_cannot_allow_it_itself(folder):
    path = written(folder, data={"path": "../talks.jsonl"}, allow_outside=True)
    with pytest.raises(ScenarioError, match="allow_outside"):
        read_scenario(path)


def test_a_trace_that_its_user_names_may_lie_anywhere(folder):
    """Only what the scenario itself says has to stay in its folder."""
    from replay.scenario.reading import with_section

    outside = folder.parent / "trace.csv"
    load = {"profile": "trace", "trace": str(outside)}
    file = read_scenario(written(folder))
    assert assemble(with_section(file, "load", load, allowed=[outside])).load is not None
    with pytest.raises(ScenarioError, match=r"load\.trace"):
        assemble(with_section(file, "load", load))
