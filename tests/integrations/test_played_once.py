"""A scenario that several processes need is played by one of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from replay.core.errors import RunError
from replay.integrations.scenario_runs import NotPlayedError, PlayedOnce
from replay.results.run import Run
from replay.scenario.reading import ScenarioFile, parse_scenario
from replay.store.store import RunStore

TEXT = "{name: n, data: {path: d.jsonl}, systems: [{name: s, adapter: extractive}], policies: [gold]}"


class Playing:
    """Makes an empty run, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, file: ScenarioFile, *, runs: Path) -> Run:
        self.count += 1
        RunStore.create(runs / f"run{self.count}", {}).close()
        return Run(runs / f"run{self.count}")


def scenario(folder: Path, text: str = TEXT) -> ScenarioFile:
    return parse_scenario(text, source="n.yaml", folder=folder)


def test_who_comes_at_the_same_time_waits_and_gets_the_same_run(tmp_path):
    playing, barrier = Playing(), Barrier(4)

    def need(_: int) -> Path:
        played = PlayedOnce(tmp_path / "memory.db", tmp_path / "runs", playing)
        barrier.wait()
        return played.run(scenario(tmp_path)).folder

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(need, range(4))) == {tmp_path / "runs" / "run1"}
    assert playing.count == 1


def test_another_text_or_folder_is_another_run(tmp_path):
    playing = Playing()
    played = PlayedOnce(tmp_path / "memory.db", tmp_path / "runs", playing)
    for file in (scenario(tmp_path), scenario(tmp_path / "b"), scenario(tmp_path, TEXT.replace("n,", "m,"))):
        played.run(file)
    assert playing.count == 3


def test_what_can_not_be_played_is_not_tried_again_by_anybody(tmp_path):
    asked = []

    def fail(file: ScenarioFile, *, runs: Path) -> Run:
        asked.append(file)
        raise RunError("the disk is full")

    for _ in range(2):
        with pytest.raises(NotPlayedError, match="the disk is full"):
            PlayedOnce(tmp_path / "memory.db", tmp_path, fail).run(scenario(tmp_path))
    assert len(asked) == 1


def test_who_is_interrupted_leaves_it_to_the_next(tmp_path):
    playing = Playing()

    def interrupt(file: ScenarioFile, *, runs: Path) -> Run:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PlayedOnce(tmp_path / "memory.db", tmp_path, interrupt).run(scenario(tmp_path))
    PlayedOnce(tmp_path / "memory.db", tmp_path, playing).run(scenario(tmp_path))
    assert playing.count == 1
