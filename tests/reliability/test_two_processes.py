"""Only one process writes a run at a time; a killed one lets go of it."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing, contextmanager

import pytest

from replay.results.run import Run
from replay.store.database import lock_run, unlock_run
from tests.cli.command import replay_cli
from tests.reliability.programs import begun, only_run, write_scenario
from tests.waiting import until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and signals of POSIX")

TURNS = 4 * 3


@pytest.fixture
def slow(tmp_path):
    """A scenario whose run takes minutes, unless it is stopped."""
    system = {"name": "slow", "adapter": "scripted", "settings": {"delay_s": 5.0}}
    write_scenario(tmp_path, systems=[system], play={"concurrency": 1})
    return tmp_path


@contextmanager
def running(folder):
    """A first process that plays the scenario, once its run is there and has been begun."""
    process = begun("run", "scenario.yaml", cwd=folder)
    try:
        until(lambda: _has_begun(folder) or process.poll() is not None)
        assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.wait()


def _has_begun(folder) -> bool:
    """Whether a conversation is stored, by a process that holds the run."""
    for path in folder.glob("runs/*/run.db"):
        with closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("SELECT count(*) FROM conversation").fetchone()[0])
    return False


def test_a_second_process_is_refused_by_every_verb_that_writes(slow):
    with running(slow):
        run = only_run(slow / "runs")
        for verb in (["resume"], ["score"], ["rerun", "--only", "failed"]):
            done = replay_cli(verb[0], run, *verb[1:], cwd=slow)
            assert done.returncode == 2, verb
            assert "Traceback" not in done.stderr
            refused = "not finished" if verb[0] == "rerun" else "another process is writing"
            assert refused in done.stderr
        done = replay_cli("report", run, "--resamples", "0", cwd=slow)
        assert done.returncode == 0, "looking at it is allowed"


def test_a_rerun_of_a_run_that_is_written_is_refused(tmp_path):
    write_scenario(tmp_path)
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path).returncode == 0
    run = only_run(tmp_path / "runs")
    lock = lock_run(run)
    try:
        done = replay_cli("rerun", run, "--only", "depth=1", cwd=tmp_path)
    finally:
        unlock_run(lock)
    assert done.returncode == 2
    assert "another process is writing" in done.stderr
    assert Run(run).superseded() == []


def test_a_killed_process_lets_go_of_its_run(slow):
    with running(slow) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        text = (slow / "scenario.yaml").read_text()
        assert "delay_s: 5.0" in text
        with running_resume(slow) as second:
            assert second.poll() is None


@contextmanager
def running_resume(folder):
    """``resume`` on the one run, once it has said in the run that it goes on."""
    process = begun("resume", only_run(folder / "runs"), cwd=folder)
    try:
        until(lambda: _resumed(folder) or process.poll() is not None)
        assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.wait()


def _resumed(folder) -> bool:
    with closing(sqlite3.connect(only_run(folder / "runs") / "run.db")) as connection:
        kinds = connection.execute("SELECT count(*) FROM event WHERE kind = 'resumed'")
        return bool(kinds.fetchone()[0])
