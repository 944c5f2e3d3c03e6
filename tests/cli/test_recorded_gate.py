"""``--fail-on worse``: a build is red where an answer is worse than the recorded one."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from replay.statistics.recorded import read_worse_limit
from tests.cli.command import replay_cli

TURNS = [
    {"question": "How much is it?", "gold_answers": ["It costs 12 euros."]},
    {"question": "Who brings it?", "gold_answers": ["Our driver does, before noon."]},
    {"question": "Thanks!", "gold_answers": ["You're welcome."]},
]
GOOD = ["12 euros.", "Our driver, before noon.", "You're welcome!"]
BAD = ["I can't say.", "I don't know.", "You're welcome!"]
SCENARIO = """
name: gated
data: {path: talks.jsonl}
systems: [{name: bot, adapter: scripted, settings: {answers: ANSWERS}}]
policies: [gold]
scorers: [f1]
"""


def suite(folder: Path, answers: list[str], turns: list[dict] = TURNS) -> None:
    (folder / "talks.jsonl").write_text(json.dumps({"id": "talk", "turns": turns}) + "\n")
    (folder / "scenario.yaml").write_text(SCENARIO.replace("ANSWERS", json.dumps(answers)))


@pytest.mark.parametrize(
    ("answers", "allowed", "code", "line"),
    [
        (GOOD, "worse", 0, "ok    bot, gold: 0 of 3 turns"),
        (BAD, "worse", 100, "FAIL  bot, gold: 2 of 3 turns"),
        (BAD, "worse>1", 100, "FAIL  bot, gold: 2 of 3 turns"),
        (BAD, "worse>2", 0, "ok    bot, gold: 2 of 3 turns"),
        (BAD, "worse>70%", 0, "ok    bot, gold: 2 of 3 turns"),
    ],
)
def test_a_run_fails_where_more_answers_are_worse_than_allowed(tmp_path, answers, allowed, code, line):
    """Whether or not the scenario has the section ``recorded``; a stored run, too."""
    suite(tmp_path, answers)
    done = replay_cli("run", "scenario.yaml", "--fail-on", allowed, cwd=tmp_path)
    assert (done.returncode, line in done.stdout) == (code, True), done.stdout
    again = replay_cli("report", "--json", "--fail-on", allowed, cwd=tmp_path)
    assert (again.returncode, line in again.stderr) == (code, True)
    assert [one["by"] for one in json.loads(again.stdout)["recorded"]["turns"]] == ["refusal"] * (
        2 if answers is BAD else 0
    )


def test_both_answers_of_a_worse_turn_are_in_junit_and_markdown(tmp_path):
    suite(tmp_path, BAD)
    done = replay_cli("run", "scenario.yaml", "--fail-on", "worse", "--junit", "junit.xml", cwd=tmp_path)
    assert done.returncode == 100
    found = ElementTree.parse(tmp_path / "junit.xml").getroot()
    (of_talk,) = (one for one in found if one.get("name") == "gated.talk.recorded")
    assert (of_talk.get("tests"), of_talk.get("failures")) == ("3", "2")
    case = next(of_talk.iter("testcase"))
    assert case.get("name") == "depth 1: against the recorded answer (bot, gold)"
    assert case.find("failure").text.splitlines() == [
        "asked: How much is it?",
        "before: It costs 12 euros.",
        "now: I can't say.",
        'why: worse by refusal: refuses now: "i can\'t say."',
    ]
    shown = replay_cli("report", "--markdown", cwd=tmp_path).stdout
    assert "| `bot` | `gold` | all | 3 | 2 (67 %) | 0 (0 %) | 0 (0 %) | 1 (33 %) |" in shown
    assert "  - before: Our driver does, before noon.\n  - now: I don't know.\n" in shown


def test_a_run_that_was_not_compared_says_how_it_can_be(tmp_path):
    suite(tmp_path, BAD)
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path).returncode == 0
    refused = replay_cli("report", "--fail-on", "worse", cwd=tmp_path)
    assert refused.returncode == 2
    assert " --recorded` does that" in refused.stderr
    assert replay_cli("score", "--recorded", cwd=tmp_path).returncode == 0
    assert replay_cli("report", "--fail-on", "worse", cwd=tmp_path).returncode == 100


def test_without_a_recorded_answer_nothing_is_decided(tmp_path):
    suite(tmp_path, GOOD, [{"question": "Hello?"}])
    done = replay_cli("run", "scenario.yaml", "--fail-on", "worse", cwd=tmp_path)
    assert done.returncode == 101
    assert "no turn has a recorded answer" in done.stderr


@pytest.mark.parametrize("text", ["better", "worse>", "worse>-1", "worse < 3", ""])
def test_what_means_nothing_is_refused(text):
    with pytest.raises(ValueError, match="write worse, worse>2 or worse>5%"):
        read_worse_limit(text)
