"""What a study can be about, and one kind of study more than there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.runs.launch import run
from replay.scenario.reading import read_scenario, with_changes
from replay.scenario.shipped import find_scenario
from replay.study.running.study_file import PRESETS
from tests.sharing import made_once
from tests.study.talks import Chat


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory) -> Path:
    """The folder of a run of three conversations of the quickstart, named ``quick``."""

    def made(runs: Path) -> Path:
        file = with_changes(read_scenario(find_scenario("quickstart")), {"data": {"limit": 3}})
        return run(file, runs=runs).folder.rename(runs / "quick")

    return made_once(tmp_path_factory, "three-conversations", made)


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind of study that is a talk and a judgement of it."""
    monkeypatch.setitem(PRESETS, "chat", Chat)
