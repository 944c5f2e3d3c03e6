"""What became of checks, on the command line."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from replay.statistics.checks import CHECK_COLUMNS
from tests.cli.command import replay_cli
from tests.report.sample_checks import checked_run


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
