"""
What became of checks, on the command line.

What systems did before they answered, on the command line.

``replay validate`` of data that expects something.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from replay.results.run import Run
from replay.statistics.checks import CHECK_COLUMNS
from replay.statistics.score_column import STEP_COLUMNS
from tests.cli.command import replay_cli
from tests.report.sample_checks import checked_run
from tests.report.sample_steps import CALLS, stepped_run


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    return checked_run(tmp_path_factory.mktemp("checked") / "run")


def test_the_report_shows_them_and_writes_a_case_for_each(checked, tmp_path):
    done = replay_cli("report", checked, "--junit", "junit.xml", cwd=tmp_path)
    cases = ElementTree.parse(tmp_path / "junit.xml").getroot()

    assert done.returncode == 0, done.stderr
    assert "check.contains       1       2              1" in done.stdout
    assert cases.attrib == {"tests": "6", "failures": "3", "errors": "0"}
    assert "asserts nothing" not in done.stderr
    assert "no check here" not in done.stdout, "that most turns have none is no note"


@pytest.mark.parametrize("option", ["--json", "--markdown"])
def test_machines_and_comments_get_them_too(option, checked, tmp_path):
    said = replay_cli("report", checked, option, cwd=tmp_path).stdout
    if option == "--json":
        said = [one["evidence"] for one in json.loads(said)["checks"]["failed"]]

    assert "it is curt" in str(said)


def test_checks_are_exported_with_their_turns(checked, tmp_path):
    done = replay_cli("export", checked, "--table", "checks", cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))

    assert list(rows[0]) == list(CHECK_COLUMNS)
    assert [
        (row["conversation"], row["depth"], row["passed"], row["reason"], row["answer"]) for row in rows
    ] == [
        ("a", "1", "True", "", "No."),
        ("a", "1", "False", "", "No."),
        ("a", "2", "False", "", "No."),
        ("b", "1", "False", "", "No."),
        ("b", "2", "", "never reached", ""),
        ("b", "2", "", "never reached", ""),
    ]
    assert json.loads(rows[1]["value"]) == "Is it polite?"
    assert [row["valid"] for row in rows[:3]] == ["True", "True", "False"]


def test_checks_are_exported_in_every_format(checked, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("checks.jsonl", "checks.parquet"):
        assert replay_cli("export", checked, "--table", "checks", "--out", name, cwd=tmp_path).returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "checks.jsonl").read_text().splitlines()]
    table = parquet.read_table(tmp_path / "checks.parquet")

    assert lines[4] == {**lines[4], "passed": None, "value": "refund", "at_end": False, "asked": None}
    assert table.column_names == list(CHECK_COLUMNS)
    assert table["passed"].to_pylist() == [line["passed"] for line in lines]


def test_a_run_without_checks_says_where_they_come_from(tmp_path):
    run = checked_run(tmp_path / "run", [])
    done = replay_cli("export", run, "--table", "checks", cwd=tmp_path)

    assert (done.returncode, done.stdout.strip()) == (0, ",".join(CHECK_COLUMNS))
    assert "`expect`" in done.stderr
    assert "Checks" not in replay_cli("report", run, cwd=tmp_path).stdout


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    return stepped_run(tmp_path_factory.mktemp("stepped") / "run")


def test_each_step_is_a_row(stepped, tmp_path):
    done = replay_cli("export", stepped, "--table", "steps", cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert done.returncode == 0, done.stderr
    assert list(rows[0]) == list(STEP_COLUMNS)
    assert [
        (row["depth"], row["number"], row["role"], row["name"], row["tool_call_id"], row["end_s"])
        for row in rows
    ] == [
        ("1", "1", "assistant", "", "", "0.5"),
        ("1", "2", "tool", "find_order", "1", "0.75"),
        ("1", "3", "tool", "", "2", "0.75"),
    ]
    assert [call["arguments"] for call in json.loads(rows[0]["tool_calls"])] == [c.arguments for c in CALLS]
    assert json.loads(rows[1]["left_out"]) == ["image_url"]


def test_steps_are_exported_in_every_format(stepped, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("steps.jsonl", "steps.parquet"):
        assert replay_cli("export", stepped, "--table", "steps", "--out", name, cwd=tmp_path).returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    table = parquet.read_table(tmp_path / "steps.parquet")
    assert lines[0]["tool_calls"][0]["name"] == "find_order"
    assert table["begin_s"].to_pylist() == [line["begin_s"] for line in lines] == [0.0, 0.5, 0.75]


def test_turns_say_how_many_steps_and_asks_they_took(stepped, tmp_path):
    done = replay_cli("export", stepped, cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["attempts"], row["asks"], row["steps"]) for row in rows] == [
        ("2", "2", "3"),
        ("1", "1", "0"),
    ]
    assert Run(stepped).turns()["steps"].tolist() == [3, 0]


def test_a_run_without_steps_says_so(stepped, tmp_path):
    run = stepped_run(tmp_path / "run", steps=(), step_times_s=())
    done = replay_cli("export", run, "--table", "steps", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, ",".join(STEP_COLUMNS))
    assert "no tool was called" in done.stderr


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
