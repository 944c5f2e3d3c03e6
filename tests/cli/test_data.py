"""``replay data`` as a user gets it."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import replay_cli

TALK = {
    "id": "talk",
    "turns": [
        {"question": "Who sang Stone Garden?", "gold_answer": "Alice Okafor sang it."},
        {"question": "Where was she born?", "gold_answer": "She was born in Port Ellis."},
        {"question": "Why?", "gold_answer": "CANNOTANSWER"},
    ],
}


@pytest.fixture
def data(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(TALK) + "\n", "utf-8")
    worded = {**TALK, "turns": [{**turn, "standalone": turn["question"]} for turn in TALK["turns"]]}
    (tmp_path / "b.jsonl").write_text(json.dumps(worded) + "\n{}\n", "utf-8")
    return tmp_path


def test_stats_are_read_by_the_embedded_resolver_and_say_so(data):
    done = replay_cli("data", "stats", "a.jsonl", cwd=data)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Data set a.jsonl\n\nSize ")
    lines = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert {"turns 3", "pronoun 50.0 % of 2", "unanswerable questions 33.3 % of 3"} <= lines
    assert "follow-ups that lean on what was said 100.0 % of 2" in lines
    assert any("Leaning: by embedded-" in line and "read all 2 follow-ups" in line for line in lines)


def test_stats_as_json_and_without_a_resolver(data):
    done = replay_cli("data", "stats", "a.jsonl", "--json", "--sample", "0", cwd=data)
    found = json.loads(done.stdout)
    assert found["leaning"] is None
    assert found["question_words"] == {"who": 1, "where": 1, "why": 1}


def test_a_line_that_cant_be_read_is_told_or_skipped(data):
    assert replay_cli("data", "stats", "b.jsonl", cwd=data).returncode == 2
    done = replay_cli("data", "stats", "b.jsonl", "--skip-bad", "--markdown", cwd=data)
    assert done.returncode == 0
    assert "skipped: " in done.stderr
    assert "| follow-ups that lean on nothing | 100.0 % of 2 |" in done.stdout


def test_two_data_sets_are_compared_and_drawn(data):
    done = replay_cli(
        "data", "compare", "a.jsonl", "b.jsonl", "--skip-bad", "--plot", "c.svg", "--sample", "0", cwd=data
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Data sets side by side\n")
    assert done.stdout.endswith("wrote c.svg\n")
    assert (data / "c.svg").read_bytes().startswith(b"<?xml")


def test_more_formats_than_data_sets_are_refused(data):
    formats = ["--format", "native"] * 3
    done = replay_cli("data", "compare", "a.jsonl", "b.jsonl", *formats, cwd=data)
    assert done.returncode == 2
    assert done.stderr == "--format is given once for both data sets, or once for each\n"
