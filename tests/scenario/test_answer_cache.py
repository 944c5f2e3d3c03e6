"""Where ``play.cache`` is a fault, and what each fault says."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from replay import ScenarioError
from replay.core import disk_cache
from replay.core.disk_cache import DiskCache
from replay.runs.launch import load_scenario
from replay.scenario.assembly import assemble

SYSTEM = {"name": "bot", "adapter": "extractive"}
KEEPER = {"name": "bot", "adapter": "extractive", "settings": {"history": "server"}}


def scenario(folder: Path, *, play: Any = None, **more: Any) -> dict[str, Any]:
    (folder / "talk.jsonl").write_text('{"id": "c", "turns": [{"question": "Who?"}]}\n', "utf-8")
    return {
        "name": "kept",
        "data": {"path": str(folder / "talk.jsonl")},
        "systems": [SYSTEM],
        "policies": [{"pred": {"detect": False}}],
        "play": {"cache": str(folder / "kept")} if play is None else play,
        **more,
    }


def faults(folder: Path, **more: Any) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        assemble(load_scenario(scenario(folder, **more)))
    return [f"{fault.path}: {fault.message}" for fault in raised.value.faults]


def test_a_fine_one_makes_no_folder(tmp_path: Path) -> None:
    (system,) = assemble(load_scenario(scenario(tmp_path))).systems

    assert system.answers is not None
    assert not (tmp_path / "kept").exists()


@pytest.mark.usefixtures("code_runs")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"systems": [KEEPER]}, 'systems[0]: "bot" keeps its own history'),
        (
            {"load": {"profile": "closed", "concurrency": 1, "duration_s": 1}},
            "play.cache: a load of kept answers measures nothing",
        ),
        (
            {
                "systems": [
                    {"name": "bot", "adapter": "python", "settings": {"target": lambda question: "Yes."}}
                ]
            },
            'systems[0]: "bot" is an object of this process',
        ),
        ({"systems": [{**SYSTEM, "cache": True}], "play": {}}, "systems[0].cache: needs play.cache"),
    ],
    ids=["server", "load", "in-memory", "without"],
)
def test_what_can_not_be_kept_is_a_fault(tmp_path: Path, change: Any, said: str) -> None:
    (fault,) = faults(tmp_path, **change)
    assert fault.startswith(said)


def test_a_system_that_keeps_its_history_may_be_there_uncached(tmp_path: Path) -> None:
    systems = [SYSTEM, {**KEEPER, "name": "keeper", "cache": False}]

    first, second = assemble(load_scenario(scenario(tmp_path, systems=systems))).systems

    assert (first.answers is None, second.answers is None) == (False, True)


def test_a_file_in_the_place_of_the_folder_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    assert faults(tmp_path) == [
        f'play.cache: "{tmp_path / "kept"}" is no folder; name one, which is made where there is none'
    ]


@pytest.mark.parametrize("foreign", [True, False])
def test_a_file_that_is_no_cache_is_said_before_everything_is_asked(tmp_path: Path, foreign: bool) -> None:
    path = tmp_path / "kept" / "answers.db"
    path.parent.mkdir()
    if foreign:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE mine (own TEXT)")
    else:
        path.write_bytes(b"no database" * 100)
    before = path.read_bytes()

    (fault,) = faults(tmp_path)

    assert fault.startswith(f"play.cache: the cache {path} can't be used: ")
    assert fault.endswith("; delete that file, or name another folder")
    assert path.read_bytes() == before


def test_a_file_that_another_program_writes_is_not_to_be_deleted(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "kept" / "answers.db"
    DiskCache(path).put({b"key": b"value"})
    monkeypatch.setattr(disk_cache, "WAIT_S", 0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        (fault,) = faults(tmp_path)

    assert "database is locked; end the program that writes it, or wait for it, or name another" in fault
    assert DiskCache(path).get([b"key"]) == {b"key": b"value"}


def test_a_run_that_is_begun_goes_on_without_its_cache(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "answers.db"
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)

    assert assemble(load_scenario(scenario(tmp_path)), data_is_read=True).systems
