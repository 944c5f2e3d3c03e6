"""Helping processes that are killed: coreference goes on with a new one, a load run ends with what it has."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from replay.results.run import Run
from tests.cli.command import replay_cli
from tests.reliability.programs import only_run, write_scenario
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")


def children(parent: int, holding: str) -> list[int]:
    """Processes that *parent* started whose command line holds a text."""
    found = []
    for path in Path(f"/proc/{parent}/task").glob("*/children"):
        for pid in path.read_text().split():
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it ended meanwhile
                continue
            if holding in command:
                found.append(int(pid))
    return found


def turns(folder) -> int:
    for path in folder.glob("runs/*/run.db"):
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT count(*) FROM turn").fetchone()[0]
    return 0


def until_in(process, reached):
    """What *reached* gives once that is true, which has to be before *process* ends."""

    def look():
        found = reached()
        assert found or process.poll() is None, process.communicate()[1]
        return found

    return until(look)


def started(folder, *arguments):
    command = [sys.executable, "-m", "replay", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, **pipes)


def test_a_killed_coreference_worker_is_replaced_and_the_run_ends_as_if_nothing_had_been(tmp_path):
    system = {
        "name": "echo",
        "adapter": "scripted",
        "settings": {"delay_s": 0.02, "answers": ["She did."] * 5},
    }
    changes = {"talks": 6, "turns": 5, "systems": [system], "policies": ["rewrite"]}
    write_scenario(tmp_path, **changes)
    whole = replay_cli("run", "scenario.yaml", "--runs", "undisturbed", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    write_scenario(tmp_path, **changes, drift={"nlp_workers": 1})
    process = started(tmp_path, "run", "scenario.yaml")
    try:
        until_in(process, lambda: turns(tmp_path) >= 5)
        (worker,) = until_in(process, lambda: children(process.pid, "popen_loky"))
        os.kill(worker, signal.SIGKILL)
        _, told = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, told
    run, undisturbed = (Run(only_run(tmp_path / name)) for name in ("runs", "undisturbed"))
    assert contents(run) == contents(undisturbed)


def contents(run: Run) -> list:
    return [(r.conversation, r.depth, r.asked, r.answer, r.edit, r.drift, r.outcome) for r in run.records()]


def has_turn_key(run: Run) -> bool:
    with closing(sqlite3.connect(run.folder / "run.db")) as connection:
        return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'turn_key'").fetchall())


def test_a_killed_load_run_gets_its_key_when_it_is_next_written_and_can_be_looked_at_before(tmp_path):
    system = {"name": "echo", "adapter": "scripted", "settings": {"delay_s": 0.01}}
    write_scenario(tmp_path, systems=[system], policies=["pred"])
    process = started(tmp_path, "stress", "scenario.yaml", "--concurrency", "4", "--duration", "60")
    try:
        until_in(process, lambda: turns(tmp_path) >= 50)
    finally:
        process.kill()
        process.communicate()
    run = Run(only_run(tmp_path / "runs"))
    kept = run.outcomes()
    assert not has_turn_key(run)
    assert replay_cli("report", run.folder, "--resamples", "0", cwd=tmp_path).returncode == 0
    done = replay_cli("score", run.folder, "--scorer", "em", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert has_turn_key(run)
    assert run.outcomes() == kept
    assert set(run.scored()[1]["em"].observed) == {1.0}
    refused = replay_cli("resume", run.folder, cwd=tmp_path)
    assert refused.returncode == 2
    assert "load run" in refused.stderr
