"""What a study can be about, and one kind of study more than there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.study.running.study_file import PRESETS
from tests.sharing import made_once
from tests.study.presets.people import animal_run
from tests.study.talks import Chat


@pytest.fixture(scope="session")
def heron(tmp_path_factory) -> Path:
    """The folder of a run of two systems under three policies, with telltale names."""
    return made_once(tmp_path_factory, "animals", animal_run)


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind of study that is a talk and a judgement of it."""
    monkeypatch.setitem(PRESETS, "chat", Chat)
