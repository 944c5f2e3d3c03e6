"""Scenario files: every fault at once, each with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.core.errors import InputError, ScenarioError
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario, read_choices, read_scenario, with_changes
from replay.scenario.shipped import find_scenario, shipped_names

FINE = """\
name: try
data:
  path: talk.jsonl
systems:
  - name: mine
    adapter: scripted
    settings: {answers: gold}
policies: [gold, pred, replace: {always: true}]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "talk.jsonl").write_text(
        '{"id": "c", "turns": [{"question": "Who?", "gold_answer": "Me."}]}\n'
    )
    return tmp_path


def faults(text: str, folder: Path):
    with pytest.raises(ScenarioError) as caught:
        assemble(parse_scenario(text, source="s.yaml", folder=folder))
    return [(f.line, f.path, f.message) for f in caught.value.faults]


def test_a_sound_scenario_is_built(folder):
    assembly = assemble(parse_scenario(FINE, source="s.yaml", folder=folder))
    assert list(assembly.policies) == ["gold", "pred", "replace(always=True)"]
    assert list(assembly.scorers) == ["em", "f1", "bleu1", "rouge_l"]
    assert [c.id for c in assembly.conversations(None)] == ["c"]


@pytest.mark.parametrize(
    ("written", "said"),
    [("pred", '"pred" is not a list; write [pred]'), ("[]", "is empty; at least 1 is expected")],
)
def test_a_list_is_asked_for_in_plain_words(folder, written, said):
    text = re.sub("policies: .*", f"policies: {written}", FINE)
    ((_, path, message),) = faults(text, folder)
    assert (path, message) == ("policies", said)


def test_a_folder_is_its_scenario_before_one_that_is_shipped(tmp_path, monkeypatch):
    """After `replay init --example support`, `replay run support` runs what was edited there."""
    monkeypatch.chdir(tmp_path)
    Path("support").mkdir()
    assert find_scenario("support") != Path("support/scenario.yaml")
    Path("support/scenario.yaml").touch()
    assert find_scenario("support") == Path("support/scenario.yaml")
    Path("mine").mkdir()
    with pytest.raises(InputError, match=r'"mine" is a folder without a scenario\.yaml'):
        find_scenario("mine")


def test_all_faults_are_reported_at_once_in_file_order(folder):
    text = """\
name: try
data:
  path: nowhere.jsonl
  limits: 3
systems:
  - name: mine
    adapter: openapi
  - name: other
    adapter: scripted
    settings: {answer: gold}
policies: [rewritte, replace: {allways: true}]
play:
  concurrency: 0
"""
    found = faults(text, folder)
    assert [(line, path) for line, path, _ in found] == [
        (3, "data.path"),
        (4, "data.limits"),
        (7, "systems[0].adapter"),
        (10, "systems[1].settings.answer"),
        (11, "policies[0]"),
        (11, "policies[1].replace.allways"),
        (13, "play.concurrency"),
    ]
    by_path = {path: message for _, path, message in found}
    assert 'did you mean "limit"?' in by_path["data.limits"]
    assert 'did you mean "openai"?' in by_path["systems[0].adapter"]
    assert 'did you mean "rewrite"?' in by_path["policies[0]"]
    assert 'did you mean "always"?' in by_path["policies[1].replace.allways"]
    assert "0" in by_path["play.concurrency"]


def test_what_is_missing_is_named(folder):
    found = faults("name: try\n", folder)
    assert [(path, message) for _, path, message in found] == [
        ("data", "is required but missing"),
        ("systems", "is required but missing"),
        ("policies", "is required but missing"),
    ]


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b\n", "a: [1\n", "name: x\nname: y\n", "\t"])
def test_what_is_no_scenario_is_refused_without_a_traceback(text, folder):
    assert faults(text, folder)


def test_a_key_given_twice_is_a_fault(folder):
    assert (9, "name", "is given twice (first on line 1)") in faults(FINE + "name: again\n", folder)


def test_gold_with_a_history_kept_by_the_system_is_refused_in_one_sentence(folder):
    text = FINE.replace("{answers: gold}", "{answers: gold, history: server}")
    (fault,) = faults(text, folder)
    assert fault[:2] == (8, "policies[0]")
    assert '"mine" keeps its own history' in fault[2]
    assert "augment" in fault[2]


def test_augment_goes_with_a_history_kept_by_the_system(folder):
    text = FINE.replace("{answers: gold}", "{answers: gold, history: server}")
    text = text.replace("[gold, pred, replace: {always: true}]", "[augment, pred]")
    assemble(parse_scenario(text, source="s.yaml", folder=folder))


def test_a_gold_stand_in_with_a_history_kept_by_the_system_is_refused(folder):
    text = FINE.replace("{answers: gold}", "{answers: gold, history: server}").replace("gold, pred", "pred")
    (fault,) = faults(text + "play: {on_failure: gold}\n", folder)
    assert fault[1] == "play.on_failure"


def test_two_systems_of_one_name_are_refused(folder):
    text = FINE.replace(
        "policies:", "  - name: mine\n    adapter: scripted\n    settings: {answers: gold}\npolicies:"
    )
    (fault,) = faults(text, folder)
    assert fault[1] == "systems[1]"


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(ScenarioError, match="No such file"):
        read_scenario(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(ScenarioError, match="UTF-8"):
        read_scenario(tmp_path / "latin.yaml")


@pytest.mark.parametrize("path", ["../talk.jsonl", "{absolute}/talk.jsonl", "../*.jsonl", "link/talk.jsonl"])
def test_data_may_lie_outside_of_the_scenarios_folder(path, folder):
    """A relative path starts from there."""
    (folder / "below").mkdir()
    (folder / "below" / "link").symlink_to(folder)
    written = folder / "below" / "scenario.yaml"
    written.write_text(FINE.replace("talk.jsonl", path.format(absolute=folder)))
    assert [c.id for c in assemble(read_scenario(written)).conversations(None)] == ["c"]


def test_a_name_that_makes_no_folder_is_refused(folder):
    ((_, path, message),) = faults(FINE.replace("name: try", "name: ../try"), folder)
    assert path == "name"
    assert "letters" in message


def test_changes_from_the_command_line_stay_with_the_scenario(folder):
    """A run is resumed from the scenario that it keeps."""
    file = with_changes(parse_scenario(FINE, source="s.yaml", folder=folder), {"data": {"limit": 5}})
    assert file.scenario.data.limit == 5
    assert parse_scenario(file.text, source="s", folder=folder).scenario == file.scenario


CHANGES = {
    "data": {"limit": 5, "skip_bad": True},
    "play": {"cache": "/tmp/yes"},
    "telemetry": {"endpoint": "http://h"},
}


def test_comments_and_order_stay_where_values_change(folder):
    text = """# Ours, of June.
name: 'try'

data:
  path: data.jsonl  # all of it
  limit: 7  # for now

# The one that we sell.
systems:
  - name: a
    adapter: scripted
    settings: {answers: [x]}
policies: [pred]
play: {timeout_s: 5}
"""
    file = with_changes(parse_scenario(text, source="s.yaml", folder=folder), CHANGES)
    assert (
        file.text
        == """# Ours, of June.
name: 'try'

data:
  path: data.jsonl  # all of it
  skip_bad: true
  limit: 5  # for now

# The one that we sell.
systems:
  - name: a
    adapter: scripted
    settings: {answers: [x]}
policies: [pred]
play: {cache: "/tmp/yes", timeout_s: 5}
telemetry:
  endpoint: "http://h"
"""
    )
    assert parse_scenario(file.text, source="s", folder=folder).scenario == file.scenario


@pytest.mark.parametrize("name", shipped_names())
def test_a_changed_scenario_reads_back_as_what_it_was_changed_to(name):
    path = find_scenario(name)
    file = with_changes(read_scenario(path), {**CHANGES, "cluster": None})
    again = parse_scenario(file.text, source="s", folder=path.parent, only_read=True)
    assert (again.scenario, again.content) == (file.scenario, file.content)


def test_a_fault_is_told_by_the_line_of_the_users_own_file(folder):
    text = "# A comment.\n\n# Another.\n\n" + FINE.replace("scripted", "sripted")
    file = with_changes(parse_scenario(text, source="s.yaml", folder=folder), {"data": {"limit": 1}})
    with pytest.raises(ScenarioError) as caught:
        assemble(file)
    line = text.split("\n").index("    adapter: sripted") + 1
    assert [(fault.path, fault.line) for fault in caught.value.faults] == [("systems[0].adapter", line)]


def test_scorers_from_a_command_line_are_written_as_in_a_scenario():
    choices = read_choices(["f1", "{rouge_l: {beta: 1.2}}"], "--scorer")
    assert [(c.name, c.settings) for c in choices] == [("f1", {}), ("rouge_l", {"beta": 1.2})]
    with pytest.raises(ScenarioError, match="--scorer"):
        read_choices(["[1, 2]"], "--scorer")


@pytest.mark.usefixtures("code_runs")
def test_a_plugin_from_a_file_needs_no_packaging(folder):
    (folder / "mine.py").write_text(
        "from replay import GoldPolicy\ndef stubborn(times: int = 1):\n    return GoldPolicy()\n"
    )
    text = FINE.replace(
        "policies: [gold,", 'policies: ["mine.py:stubborn", {"mine.py:stubborn": {times: 2}},'
    )
    assembly = assemble(parse_scenario(text, source="s.yaml", folder=folder))
    assert list(assembly.policies)[:2] == ["mine.py:stubborn", "mine.py:stubborn(times=2)"]
    wrong = text.replace("times: 2", "times: many")
    ((_, path, message),) = faults(wrong, folder)
    assert path == "policies[1].mine.py:stubborn.times"
    assert "whole number" in message
