"""``replay drift``, as a user gets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import replay_cli

ROWS = """\
conversation,title,question,gold,own
talk,Stone Garden (album),Who sang Stone Garden?,Alice Okafor sang it.,It is a song.
talk,Stone Garden (album),Where was she born?,She was born in Port Ellis.,I don't know.
"""
BOTH = ("t.csv", "--format", "csv", "--set", "columns={answer: own}")
GOLD = ("--gold", "t.csv", "--gold-format", "csv", "--gold-set", "columns={answer: gold}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(ROWS, "utf-8")
    return tmp_path


def test_one_table_with_two_columns_of_answers(folder: Path) -> None:
    done = replay_cli("drift", *BOTH, *GOLD, cwd=folder)

    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["valid"], first["rewritten"]) == (True, "Who sang Stone Garden?")
    assert (second["valid"], second["rewritten"]) == (False, "Where was Alice Okafor born?")
    assert (second["gold_answer"], second["answer"]) == ("She was born in Port Ellis.", "I don't know.")
    assert second["mentions"][0]["gold"]["antecedent"] == "Alice Okafor"
    *_, total, signature = done.stderr.splitlines()
    assert total.split() == ["all", "2", "2", "1", "50.0"]
    assert signature.startswith("rewrite|")


def test_lines_go_to_a_file(folder: Path) -> None:
    done = replay_cli("drift", *BOTH, *GOLD, "-o", "out.jsonl", "--drift", "{window: 0}", cwd=folder)

    assert done.stdout == ""
    assert len((folder / "out.jsonl").read_text("utf-8").splitlines()) == 2
    assert "window:0" in done.stderr


@pytest.mark.parametrize("section", ["[window]", "window", "{"])
def test_a_section_that_is_none_is_refused(folder: Path, section: str) -> None:
    done = replay_cli("drift", *BOTH, *GOLD, "--drift", section, cwd=folder)

    assert done.returncode == 2
    assert "--drift" in done.stderr


def test_without_gold_the_log_alone_tells_what_is_at_risk(folder: Path) -> None:
    done = replay_cli("drift", "t.csv", "--format", "csv", "--set", "columns={answer: gold}", cwd=folder)

    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["leans_on"], first["at_risk"]) == ("nothing", False)
    assert (second["leans_on"], second["words"], second["turns_back"]) == ("answer", "Alice Okafor", 1)
    assert second["at_risk"]
    *_, total, summary, signature = done.stderr.splitlines()
    assert total.split() == ["all", "2", "2", "1", "1", "50.0", "-"]
    assert summary.startswith("1 of 2 questions (50 %) leans on an earlier answer")
    assert signature.startswith("coref:embedded-")


def test_settings_of_gold_without_gold_are_refused(folder: Path) -> None:
    done = replay_cli("drift", "t.csv", "--gold-format", "csv", cwd=folder)

    assert done.returncode == 2
    assert "--gold" in done.stderr
