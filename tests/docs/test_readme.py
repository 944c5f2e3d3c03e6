"""The README is short, its commands and its scenario work, and what it links to is there."""

from __future__ import annotations

import re

import yaml

import replay
from replay.scenario.reading import parse_scenario
from tests.cli.command import replay_cli
from tests.docs.shown_output import ROOT, blocks

README = (ROOT / "README.md").read_text("utf-8")
LOG = '{"messages": [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "Here."}]}'


def test_it_is_short():
    assert len(README.encode()) <= 6_000
    assert README.count("![") == 1, "one picture"


def test_the_scenario_is_sound_and_reads_logs_as_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "a key")
    (scenario,) = blocks(README, "yaml")
    parse_scenario(scenario, source="README.md", folder=tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "monday.jsonl").write_text(f"{LOG}\n")
    (tmp_path / "bot.yaml").write_text(scenario)
    done = replay_cli("validate", "bot.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 conversation, 1 turn" in done.stdout


def test_the_commands_for_a_scenario_of_ones_own_work_in_their_order(tmp_path, monkeypatch):
    commands = re.findall(r"^    (replay .*?)  +#", README, re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["init", "run", "view"]
    for command in commands[:2]:
        done = replay_cli(*command.split()[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 1
    (program,) = re.findall(r"`(replay\.run\(.*?\)\.depth_table\(\))`", README)
    scenario = yaml.safe_load((tmp_path / "scenario.yaml").read_text("utf-8"))
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump({**scenario, "policies": ["gold"]}))
    monkeypatch.chdir(tmp_path)
    table = eval(program, {"replay": replay})
    assert list(table["policy"].unique()) == ["gold"]
    assert list(table["depth"].dropna())[:3] == [1, 2, 3]


def test_make_knows_the_commands_for_a_fresh_machine():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = re.findall(r"^    make (\w+)", README, re.MULTILINE) + re.findall(r"`make (\w+)`", README)
    assert set(named) == {"quickstart", "test", "docs"}
    assert set(named) <= set(targets)
