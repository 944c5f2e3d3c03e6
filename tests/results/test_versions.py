"""A run that one version of the program begins and another one ends says so wherever its numbers stand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

import replay
from replay.core.errors import RunError
from replay.coreference import drift
from replay.results import play_events
from replay.results.run import Run
from replay.runs.launch import resume_async, run_async
from replay.store import tables
from tests.cli.command import replay_cli
from tests.reliability.programs import only_run, write_scenario


@pytest.fixture
def half_played(tmp_path):
    """A run with half of its turns."""
    write_scenario(tmp_path, policies=["gold", "pred"])
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path).returncode == 0
    run = only_run(tmp_path / "runs")
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("DELETE FROM turn WHERE conversation IN ('talk2', 'talk3')")
        connection.execute("UPDATE run SET value = 'false' WHERE key = 'finished'")
    (run / "lock").write_bytes(b"")  # which would say that turns are lost
    return run


def another(monkeypatch, version=None, rule=None):
    """From now on the program is another one."""
    if version:
        monkeypatch.setattr(play_events, "__version__", version)
    if rule:
        monkeypatch.setitem(drift._VERSIONS, "strict", rule)


async def remarks(run):
    return [one for one in Run(run).report(resamples=0).remarks if "Asked by" in one]


async def test_the_same_version_goes_on_without_a_word(half_played):
    run = await resume_async(half_played)
    assert await remarks(run.folder) == []
    assert " + " not in run.signatures()["pred"]


def test_another_version_says_so_before_it_asks_in_the_notes_and_in_the_signatures(half_played, monkeypatch):
    another(monkeypatch, "9.0")
    done = replay_cli("resume", half_played, cwd=half_played)
    assert done.returncode == 0
    said = f"Asked by convreplay {replay.__version__} and convreplay 9.0, by the same rules."
    assert said in done.stderr
    assert Run(half_played).report(resamples=0).remarks == (said,)
    assert Run(half_played).signatures()["pred"].endswith(f"|convreplay:{replay.__version__}+9.0")


async def test_rules_that_differ_are_named_and_make_another_signature(half_played, monkeypatch):
    before = Run(half_played).signatures()
    another(monkeypatch, rule="99")
    await resume_async(half_played)
    (said,) = await remarks(half_played)
    assert '"pred" is drift:strict-' in said
    assert " and drift:strict-99" in said
    assert "gold" not in said
    after = Run(half_played).signatures()
    assert after["gold"] == before["gold"]
    assert after["pred"] != before["pred"]
    assert "drift:strict-99" in after["pred"]


async def test_a_finished_run_that_is_resumed_or_scored_by_another_version_has_asked_nothing_by_it(
    tmp_path, monkeypatch
):
    write_scenario(tmp_path, policies=["pred"])
    run = await run_async(tmp_path / "scenario.yaml", runs=tmp_path / "runs")
    before = run.signatures()
    another(monkeypatch, "9.0", "99")
    await resume_async(run.folder)
    assert await remarks(run.folder) == []
    assert run.signatures() == before


async def test_turns_asked_again_by_another_version_are_told_as_well(tmp_path, monkeypatch):
    write_scenario(tmp_path, policies=["pred"])
    run = await run_async(tmp_path / "scenario.yaml", runs=tmp_path / "runs")
    another(monkeypatch, rule="99")
    from replay.runs.rerun import rerun_async

    await rerun_async(run.folder, ["depth=3"])
    assert len(await remarks(run.folder)) == 1


def test_a_database_of_other_tables_names_the_program_that_wrote_it(half_played):
    with closing(sqlite3.connect(half_played / "run.db")) as connection:
        connection.execute("PRAGMA user_version = 1")
        connection.execute("UPDATE run SET value = ? WHERE key = 'version'", [json.dumps("0.0.7")])
        connection.commit()
    with pytest.raises(RunError, match=rf"reads version {tables.VERSION}; use .* wrote it \(0\.0\.7\)"):
        Run(half_played)
