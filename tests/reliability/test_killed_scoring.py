"""A program that is killed, or has no room, while it scores a run leaves the scores that the run had."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from replay.results.run import Run
from tests.cli.command import replay_cli, replay_process
from tests.reliability.programs import only_run, write_scenario

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process by signal, mounts a file system")

SCORER = """
import os, signal
from dataclasses import dataclass

from replay.statistics import score_column

score_column.PART = 2


@dataclass(frozen=True, kw_only=True)
class Deadly:
    file: str = "go"
    is_mean = True
    unit = ""
    signature = "deadly"

    def observe(self, records):
        if os.path.exists(self.file) and any(record.conversation == "talk3" for record in records):
            os.kill(os.getpid(), signal.SIGKILL)
        return [float(os.path.exists("go")) for _ in records]

    def combine(self, observed):
        return sum(observed) / len(observed)
"""


def scores(run):
    with closing(sqlite3.connect(run / "run.db")) as connection:
        return connection.execute("SELECT * FROM score ORDER BY 1, 2, 3, 4, 5").fetchall()


def test_killed_half_way_a_scoring_leaves_every_earlier_score(tmp_path):
    (tmp_path / "deadly.py").write_text(SCORER)
    write_scenario(tmp_path, scorers=["f1", {"slow": "deadly.py:Deadly"}])
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path).returncode == 0
    run = only_run(tmp_path / "runs")
    before, table = scores(run), Run(run).report(resamples=0).table
    assert len(before) == 2 * 12
    (tmp_path / "go").touch()
    assert replay_process("score", run, cwd=tmp_path).returncode == -9
    assert scores(run) == before
    assert Run(run).report(resamples=0).table == table
    (tmp_path / "go").unlink()
    assert replay_process("score", run, cwd=tmp_path).returncode == 0
    assert scores(run) == before
