"""The README's programs and scenarios do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from replay.scenario.reading import parse_scenario
from replay.scenario.shipped import find_scenario
from tests.cli.command import replay_cli
from tests.waiting import PATIENCE_S

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    replay_cli("init", cwd=tmp_path)
    (tmp_path / "mine.py").write_text(blocks("python")[1])
    return tmp_path


def test_the_library_example_runs_with_the_adapter_example(folder):
    library, _ = blocks("python")
    # Three of the quickstart's conversations; other tests play them all.
    quickstart = find_scenario("quickstart")
    one_file = str(quickstart.parent / "conversations" / "museum.jsonl")
    (folder / "small.yaml").write_text(
        quickstart.read_text("utf-8").replace("conversations/*.jsonl", f"{one_file}\n  limit: 3")
    )
    library = library.replace('run("quickstart")', 'run("small.yaml")')
    (folder / "harness.py").write_text(library.replace("my_package.systems:MyAdapter", "mine.py:Shouting"))
    program = [sys.executable, "harness.py"]
    done = subprocess.run(
        program, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "f1_low" in done.stdout
    assert len(list((folder / "results").glob("in-a-harness-*/run.db"))) == 1


def test_the_scenario_example_is_sound(tmp_path):
    (scenario,) = blocks("yaml")
    parse_scenario(scenario, source="README.md", folder=tmp_path)


def test_every_page_it_links_to_is_there():
    root = Path(__file__).parents[2]
    for target in re.findall(r"\]\(((?!https?:)[^)#]+)", README):
        assert (root / target).is_file(), target
