"""``replay rewrite`` and the published program's files, as a user gets them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from replay.datasets.native import NativeReader
from tests.cli.command import replay_cli
from tests.data_tables import from_table

TALK = {
    "id": "talk",
    "title": "Stone Garden (album)",
    "turns": [
        {"question": "Who sang Stone Garden?", "gold_answer": "Alice Okafor sang it."},
        {"question": "Where was she born?", "gold_answer": "She was born in Port Ellis."},
        {"question": "Who taught her?", "gold_answer": "Her aunt.", "standalone": "Who taught Alice?"},
    ],
}


def rewrite(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return replay_cli("rewrite", *arguments, cwd=folder)


@pytest.fixture
def data(tmp_path):
    (tmp_path / "talk.jsonl").write_text(json.dumps(TALK) + "\n", "utf-8")
    return tmp_path


def test_each_question_is_written_with_its_evidence(data):
    done = rewrite(data, "talk.jsonl")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["question"] for line in lines] == [t["question"] for t in TALK["turns"]]
    assert all(mention["kind"] == "ellipsis" for mention in lines[0].pop("mentions"))
    assert lines[0] == {
        "conversation": "talk",
        "depth": 1,
        "turn": "talk#1",
        "question": "Who sang Stone Garden?",
        "rewritten": "Who sang Stone Garden?",
        "standalone": None,
        "not_judged": None,
    }
    assert lines[1]["rewritten"] == "Where was Alice Okafor born?"
    mention, *_ = lines[1]["mentions"]
    assert (mention["start"], mention["end"], mention["text"], mention["antecedent"]) == (
        10,
        13,
        "she",
        "Alice Okafor",
    )
    assert lines[2]["standalone"] == "Who taught Alice?"
    assert "3 questions, 2 rewritten with " in done.stderr


def test_questions_that_are_not_english_are_left_as_they_are_and_counted(data):
    turns = [{"question": "Wer war das?"}, {"question": "Wo lebte sie damals?"}, {"question": "Warum?"}]
    (data / "talk.jsonl").write_text(json.dumps({**TALK, "turns": turns}) + "\n", "utf-8")
    done = rewrite(data, "talk.jsonl")
    lines = [json.loads(line) for line in done.stdout.splitlines()]

    assert [line["rewritten"] for line in lines] == [turn["question"] for turn in turns]
    assert {line["not_judged"] for line in lines} == {"the question is not English (German)"}
    assert "3 left as they are: the question is not English (German)" in done.stderr


def test_native_fills_in_what_is_missing_and_nothing_else(data):
    done = rewrite(data, "talk.jsonl", "--native", "--out", "new.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    (talk,) = NativeReader().read(data / "new.jsonl")
    assert [turn.standalone for turn in talk.turns] == [
        "Who sang Stone Garden?",
        "Where was Alice Okafor born?",
        "Who taught Alice?",
    ]
    assert not list(data.glob("*.part"))


def test_without_history_there_is_nothing_to_go_by(data):
    done = rewrite(data, "talk.jsonl", "--window", "0", "--no-background")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(line["question"] == line["rewritten"] for line in lines)


def test_a_threshold_of_one_leaves_all_but_the_certain_alone(data):
    done = rewrite(data, "talk.jsonl", "--threshold", "1")
    for line in map(json.loads, done.stdout.splitlines()):
        certain = any((m["probability"] or 0) >= 1 or not m["distribution"] for m in line["mentions"])
        assert certain or line["question"] == line["rewritten"]


def test_formats_and_their_settings(data):
    (data / "talk.csv").write_text(
        "talk,ask,say\nt,Who sang?,Ann Lee sang.\nt,Where was she born?,\n", "utf-8"
    )
    columns = "columns={conversation: talk, question: ask, answer: say}"
    done = rewrite(data, "talk.csv", "--format", "csv", "--set", columns)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[1])["rewritten"] == "Where was Ann Lee born?"


@from_table
def test_what_cannot_be_done_is_said_without_a_traceback(data, arguments, message):
    done = rewrite(data, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_conversations_stop_it_or_are_skipped(data):
    with (data / "talk.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "bad", "turns": [{"qestion": "?"}]}\n')
    assert rewrite(data, "talk.jsonl", "--out", "new.jsonl").returncode == 2
    assert not (data / "new.jsonl").exists()
    done = rewrite(data, "talk.jsonl", "--format", "native", "--skip-bad", "--out", "new.jsonl")
    assert done.returncode == 0, done.stderr
    assert "skipped: " in done.stderr
    assert len((data / "new.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize("name", ["canard/canard_dev_a.json", "cast/2021_manual_evaluation_topics_v1.0.json"])
def test_real_data(shared_data, tmp_path, name):
    done = rewrite(tmp_path, str(shared_data / name), "--limit", "1")
    assert done.returncode == 0, done.stderr
    assert all(json.loads(line)["rewritten"] for line in done.stdout.splitlines())


def test_an_llm_rewrites_in_a_run_and_its_failures_are_counted(data):
    """From the scenario file to the tables and the published program's files."""
    (data / "model.py").write_text(
        "def answer(question):\n"
        "    if 'Who taught her' in question:\n"
        "        return 'I am\\nnot sure.'\n"
        "    return 'Where was the singer of Stone Garden born?'\n",
        "utf-8",
    )
    (data / "scenario.yaml").write_text(
        """
name: mended
data: {path: talk.jsonl}
systems:
  - {name: lost, adapter: scripted, settings: {answers: [Nobody., Nobody., Nobody.]}}
policies:
  - rewrite:
      rewriter:
        llm: {adapter: python, settings: {target: "model.py:answer"}, limit: {asks: 100, per_s: 1}}
drift: {nlp_workers: 0}
""",
        "utf-8",
    )

    def replay(*arguments):
        done = replay_cli(*arguments, cwd=data)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "model.py:answer (policy rewrite" in replay("validate", "scenario.yaml")
    shown = replay("run", "scenario.yaml")
    assert "1 question was asked as recorded: the rewriting failed" in " ".join(shown.split())
    turns = [json.loads(line) for line in replay("export", "--format", "jsonl").splitlines()]
    assert [(t["policy"], t["edit"], t["asked"]) for t in turns] == [
        ("rewrite(rewriter=llm)", "kept", "Who sang Stone Garden?"),
        ("rewrite(rewriter=llm)", "rewritten", "Where was the singer of Stone Garden born?"),
        ("rewrite(rewriter=llm)", "rewrite-failed", "Who taught her?"),
    ]
    assert [t["edit_note"] for t in turns] == [None, None, 'the reply has several lines: "I am not sure."']
    files = replay("export", "--table", "evalconvqa", "--out", "published").split()
    assert [Path(file).name for file in files] == [
        "predictions_lost_rewrite(rewriter=llm)_keptent_0_1.json",
        "modified_questions_lost_rewrite(rewriter=llm)_keptent_0_1.json",
    ]
    assert json.loads((data / files[1]).read_text())["0"] == {
        "Rewritten": [["talk#2", "Where was the singer of Stone Garden born?"]],
        "Replaced": [],
        "Not Found": ["talk#3"],
        "Filtered": [],
    }
