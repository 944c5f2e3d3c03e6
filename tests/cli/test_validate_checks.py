"""``replay validate`` of data that expects something."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.cli.command import replay_cli


def scenario(folder: Path, expect: object) -> Path:
    turns = [{"question": "Q?", "expect": expect}, {"question": "Q?", "expect": expect}]
    line = {"id": "talk", "turns": turns, "expect": {"contains": "bye"}}
    (folder / "talks.jsonl").write_text(json.dumps(line) + "\n")
    path = folder / "checked.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "name": "checked",
                "data": {"path": "talks.jsonl"},
                "systems": [{"name": "bot", "adapter": "scripted"}],
                "policies": ["pred"],
            }
        )
    )
    return path


def test_it_says_how_many_checks_there_are_of_each_kind(tmp_path):
    found = replay_cli("validate", scenario(tmp_path, {"contains": "a", "calls": "none"}), cwd=tmp_path)

    assert found.returncode == 0
    assert "            5 checks: contains 3, calls 2; 1 of them about conversations' ends\n" in found.stdout


def test_it_faults_checks_that_nothing_can_look_at(tmp_path):
    found = replay_cli("validate", scenario(tmp_path, {"rubric": "Is polite."}), cwd=tmp_path)

    assert found.returncode == 2
    assert "judges" in found.stderr
    assert (
        'no judge of the type rubric is here to judge them; met at turn 1 of "talk" and 1 more'
        in found.stderr
    )
