"""What a study can be about: a small run that the embedded system really played."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.runs.launch import run
from replay.scenario.reading import read_scenario, with_section
from replay.scenario.shipped import find_scenario


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory) -> Path:
    """The folder of a run of three conversations of the quickstart, named ``quick``; nobody writes to it."""
    file = with_section(read_scenario(find_scenario("quickstart")), "data", {"limit": 3})
    done = run(file, runs=tmp_path_factory.mktemp("runs"))
    return done.folder.rename(done.folder.with_name("quick"))
