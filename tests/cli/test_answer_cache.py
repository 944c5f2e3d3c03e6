"""``replay run --cache`` and what the screen says of answers that were kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import replay_cli

SCENARIO = """\
name: kept
data: {path: talk.jsonl}
systems: [{name: bot, adapter: extractive}]
policies: [{pred: {detect: false}}]
scorers: [em]
"""
NOTE = "bot: 1 of 1 answer came from the cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes" / "talk.jsonl").write_text(
        '{"id": "c", "passages": [{"id": "p", "text": "A pier."}], "turns": [{"question": "A pier?"}]}\n',
        "utf-8",
    )
    (tmp_path / "scenes" / "plain.yaml").write_text(SCENARIO, "utf-8")
    (tmp_path / "scenes" / "kept.yaml").write_text(SCENARIO + "play: {cache: answers}\n", "utf-8")
    return tmp_path


def text(folder: Path, *arguments: str) -> str:
    done = replay_cli("run", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def test_the_option_names_a_folder_from_here_and_the_scenario_one_beside_it(folder: Path) -> None:
    assert NOTE not in text(folder, "scenes/plain.yaml", "--cache", "here")
    assert NOTE in text(folder, "scenes/plain.yaml", "--cache", "here")
    assert (folder / "here" / "answers.db").is_file()

    text(folder, "scenes/kept.yaml")
    assert (folder / "scenes" / "answers" / "answers.db").is_file()


def test_no_cache_asks_whatever_the_scenario_says(folder: Path) -> None:
    for _ in range(2):
        assert NOTE not in text(folder, "scenes/kept.yaml", "--no-cache")

    assert not (folder / "scenes" / "answers").exists()


def test_options_that_contradict_each_other_are_refused(folder: Path) -> None:
    done = replay_cli("run", "scenes/plain.yaml", "--cache", "here", "--no-cache", cwd=folder)

    assert done.returncode == 2
    assert "--cache and --no-cache don't go together" in done.stderr


def test_validate_names_the_file(folder: Path) -> None:
    done = replay_cli("validate", "scenes/kept.yaml", cwd=folder)

    path = folder / "scenes" / "answers" / "answers.db"
    assert f"cache {path}: answers are kept there" in " ".join(done.stdout.split())


def test_stress_asks_every_question(folder: Path) -> None:
    done = replay_cli("stress", "scenes/kept.yaml", "--conversations", "1", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert "play.cache is left aside" in done.stderr
    assert not (folder / "scenes" / "answers").exists()
