"""Assertions as CI sees them: exit codes, what is printed, JUnit files."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import replay
from tests.cli import compared_runs
from tests.cli.command import replay_cli

TALKS, TURNS = 6, 3
RIGHT = "gold"
WRONG = ["Ann sang 1.", *["Nobody knows."] * (TURNS - 1)]


def scenario(name: str, answers, *asserted, **changes):
    own = {"data": {"path": "talks.jsonl"}, "policies": ["pred"], "scorers": ["em"], "assert": [*asserted]}
    return yaml.safe_dump(compared_runs.scenario(Path(), answers, **{"name": name, **own, **changes}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six talks of three turns; run ``right`` answers as recorded, ``wrong`` errs from turn 2 on."""
    made = tmp_path_factory.mktemp("work")
    compared_runs.write_talks(made, TALKS, TURNS)
    (made / "right.yaml").write_text(scenario("right", RIGHT))
    replay.run(str(made / "right.yaml"), runs=made / "made").folder.rename(made / "right")
    wrong = [
        {"metric": "em", "depth": ">=2", "min": 0.5},
        {"metric": "em", "depth": 1, "min": 1},
        {"metric": "em", "compare": "right", "max_drop": 0.02, "significant": True},
    ]
    (made / "wrong.yaml").write_text(scenario("wrong", WRONG, *wrong))
    done = replay_cli("run", "wrong.yaml", "--runs", "made", "--junit", "ci/run.xml", cwd=made)
    (made / "run.out").write_text(done.stdout)
    (made / "run.code").write_text(str(done.returncode))
    next((made / "made").iterdir()).rename(made / "wrong")
    return made


def failing(file: Path) -> list[str]:
    """Names of the cases that failed."""
    cases = ElementTree.parse(file).iter("testcase")
    return [case.attrib["name"] for case in cases if case.find("failure") is not None]


def test_a_run_that_breaks_an_assertion_ends_with_100_and_says_which_and_by_how_much(folder):
    said = (folder / "run.out").read_text()

    assert (folder / "run.code").read_text() == "100"
    assert "Assertions: 2 of 3 failed" in said
    assert "FAIL  em at least 0.5 (depth >=2)" in said
    assert "s, pred: 0 [0, 0.3903], 0.5 below the bound 0.5, on 12 turns of 6 conversations" in said
    assert "ok    em at least 1 (depth 1)" in said
    assert "(from 1 to 0.3333, p = 0.031), 0.6467 below the bound -0.02, on 18 turns" in said
    assert "\nrun: made/wrong-" in said, "the run itself is fine and can be looked at"


def test_the_junit_file_of_a_run_has_a_case_for_each_assertion(folder):
    cases = list(ElementTree.parse(folder / "ci/run.xml").iter("testcase"))

    assert len(cases) == 3
    assert len(failing(folder / "ci/run.xml")) == 2


def test_a_report_asserts_again_and_writes_the_same_file(folder):
    done = replay_cli("report", "wrong", "--junit", "again.xml", cwd=folder)

    assert done.returncode == 100
    assert "Assertions: 2 of 3 failed" in done.stdout
    assert (folder / "again.xml").read_bytes() == (folder / "ci/run.xml").read_bytes()


def test_json_and_markdown_have_the_assertions_and_nothing_else_gets_in_between(folder):
    machine = replay_cli("report", "wrong", "--json", cwd=folder)
    comment = replay_cli("report", "wrong", "--markdown", cwd=folder)
    asserted = json.loads(machine.stdout)["assertions"]

    assert [one["holds"] for one in asserted] == [False, True, False]
    assert asserted[0]["findings"][0]["value"] == 0
    assert comment.stdout.startswith("### `wrong`\n\n**Assertions: 2 of 3 failed**\n")
    for done in (machine, comment):
        assert done.returncode == 100
        assert "Assertions: 2 of 3 failed" in done.stderr


def test_json_and_markdown_at_once_are_bad_usage(folder):
    done = replay_cli("report", "right", "--json", "--markdown", cwd=folder)

    assert done.returncode == 2
    assert "say which one" in done.stderr


def test_a_run_that_asserts_nothing_ends_with_0_and_an_empty_file_says_so(folder):
    done = replay_cli("report", "right", "--junit", "none.xml", cwd=folder)

    assert done.returncode == 0
    assert "Assertions" not in done.stdout
    assert "asserts nothing" in done.stderr
    assert failing(folder / "none.xml") == []


def test_kept_assertions_end_with_0(folder):
    (folder / "kept.yaml").write_text(scenario("kept", RIGHT, {"metric": "em", "min": 1}))
    done = replay_cli("run", "kept.yaml", "--runs", "kept", "--junit", "kept.xml", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert "Assertions: 1 of 1 kept" in done.stdout
    assert failing(folder / "kept.xml") == []


def test_a_run_without_an_answer_ends_with_1_though_it_breaks_assertions_too(folder):
    settings = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    systems = [{"name": "s", "adapter": "openai", "settings": settings}]
    asserted = {"metric": "errors", "max": 0}
    text = scenario("dead", RIGHT, asserted, systems=systems, play={"attempts": 1})
    (folder / "dead.yaml").write_text(text)
    done = replay_cli("run", "dead.yaml", "--limit", "1", "--runs", "dead", "--junit", "dead.xml", cwd=folder)

    assert done.returncode == 1
    assert "connection-failed" in done.stdout
    assert "no question was answered" in done.stderr
    assert failing(folder / "dead.xml") == ["errors at most 0"]


def test_a_run_to_compare_with_that_went_away_fails_the_report(folder):
    text = scenario("gone", RIGHT, {"metric": "em", "compare": "base", "max_drop": 0})
    (folder / "gone.yaml").write_text(text)
    missing = replay_cli("run", "gone.yaml", "--runs", "gone", cwd=folder)
    assert missing.returncode == 2, "nothing is asked"
    assert "assert[0].compare" in missing.stderr
    (folder / "right").rename(folder / "base")
    try:
        assert replay_cli("run", "gone.yaml", "--runs", "gone", cwd=folder).returncode == 0
    finally:
        (folder / "base").rename(folder / "right")
    done = replay_cli("report", "--runs", "gone", cwd=folder)

    assert done.returncode == 100
    assert "could not be evaluated: there is no run in" in done.stdout
