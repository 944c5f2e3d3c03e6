"""What SQLite takes without a word: a run whose write-ahead log was deleted, cut or not copied along."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from replay.results.run import Run
from tests.cli.command import replay_cli
from tests.reliability.programs import begun, only_run, write_scenario
from tests.waiting import until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")

TALKS, TURNS = 6, 3
LOST = "lost that had been stored: run.db-wal was deleted or cut"


@pytest.fixture
def killed(tmp_path):
    """The folder of a run that was killed, with turns that are in its log alone."""
    slow = [{"conversation": "talk4", "depth": 1, "kind": "hang"}]
    system = {"name": "echo", "adapter": "scripted", "settings": {"answers": "gold", "faults": slow}}
    write_scenario(tmp_path, talks=TALKS, turns=TURNS, systems=[system], play={"concurrency": 1})
    process = begun("run", "scenario.yaml", cwd=tmp_path)
    try:
        until(lambda: _stored(tmp_path) == 4 * TURNS or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return only_run(tmp_path / "runs")


def _stored(folder):
    for path in folder.glob("runs/*/run.db"):
        return len(Run(path.parent).records())
    return 0


def remarks(run):
    return Run(run).report(resamples=0).remarks


def answered(run):
    return len([r for r in Run(run).records() if r.outcome == "answered"])


def let_it_answer(run):
    """The system no longer hangs: the run's own scenario says so."""
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("UPDATE run SET value = replace(value, 'hang', 'refused') WHERE key = 'scenario'")


@pytest.mark.parametrize("attack", ["deleted", pytest.param("cut", marks=pytest.mark.long)])
def test_a_log_that_was_deleted_or_cut_is_noticed_and_its_turns_are_asked_again(killed, attack):
    log = killed / "run.db-wal"
    if attack == "deleted":
        log.unlink()
    else:
        os.truncate(log, log.stat().st_size // 2)
    (killed / "run.db-shm").unlink(missing_ok=True)
    left = len(Run(killed).records())
    assert left < 4 * TURNS
    assert remarks(killed)[0].startswith(f"{4 * TURNS - left} turns are {LOST}")
    assert LOST in replay_cli("report", killed, "--resamples", "0", cwd=killed).stdout.replace("\n", " ")
    let_it_answer(killed)
    done = replay_cli("resume", killed, cwd=killed)
    assert done.returncode == 0, done.stderr
    assert f"{4 * TURNS - left} turns are {LOST}" in done.stderr
    assert answered(killed) == (TALKS - 1) * TURNS
    assert LOST in remarks(killed)[0]
    done = replay_cli("resume", killed, cwd=killed)
    assert LOST not in done.stderr, "said when it is found, and kept for the report"
    assert len([one for one in remarks(killed) if LOST in one]) == 1


def test_a_database_that_was_copied_without_its_log_says_that_turns_may_be_missing(killed, tmp_path):
    copy = tmp_path / "copy" / "run"
    copy.mkdir(parents=True)
    shutil.copy(killed / "run.db", copy)
    assert "may be lost: run.db was copied" in remarks(copy)[0]


def test_a_folder_that_was_copied_whole_after_a_kill_has_nothing_lost(killed, tmp_path):
    shutil.copytree(killed, tmp_path / "copy")
    assert remarks(tmp_path / "copy") == ()
    assert len(Run(tmp_path / "copy").records()) == 4 * TURNS


def test_a_finished_run_that_was_copied_alone_has_nothing_lost_unless_it_was_open_again(tmp_path):
    write_scenario(tmp_path)
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path).returncode == 0
    run = only_run(tmp_path / "runs")
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(run / "run.db", copy)
    assert remarks(copy) == ()
    program = "from replay.store.store import RunStore; import os, pathlib, signal, sys;"
    program += "RunStore(pathlib.Path(sys.argv[1]), write=True); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", program, str(run)], check=False)
    shutil.copy(run / "run.db", copy)
    assert "may be lost" in remarks(copy)[0]
    assert remarks(run) == ()


def test_an_older_copy_of_the_database_in_its_place_is_noticed(tmp_path):
    write_scenario(tmp_path)
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path).returncode == 0
    run = only_run(tmp_path / "runs")
    shutil.copy(run / "run.db", tmp_path / "older")
    assert replay_cli("rerun", run, "--only", "depth=3", cwd=tmp_path).returncode == 0
    assert remarks(run) == ("4 turns were asked again (4 attempts kept).",)
    shutil.copy(tmp_path / "older", run / "run.db")
    assert remarks(run)[0].startswith(f"4 turns are {LOST}")
