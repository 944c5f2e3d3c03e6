"""What systems did before they answered, on the command line."""

from __future__ import annotations

import csv
import io
import json

import pytest

from replay.results.run import Run
from replay.statistics.turn_frame import STEP_COLUMNS
from tests.cli.command import replay_cli
from tests.report.sample_steps import CALLS, stepped_run


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
