"""A new run's database is there as a whole or not at all."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from replay.core.errors import RunError
from replay.results.run import newest_run
from replay.store.database import connect, make
from replay.store.store import RunStore
from tests.samples import conversation

KILLED = """
import os, signal, sys
from pathlib import Path
from replay.store.store import RunStore

def kill(path, target):
    os.kill(os.getpid(), signal.SIGKILL)

Path.rename = kill  # everything is written, under another name
RunStore.create(Path(sys.argv[1]), {"name": "x"})
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_a_program_killed_while_it_makes_a_run_leaves_nothing_that_looks_like_one(tmp_path):
    RunStore.create(tmp_path / "runs" / "before", {}).close()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "runs" / "half")], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "runs" / "half").is_dir()
    assert newest_run(tmp_path / "runs").name == "before"
    with pytest.raises(RunError, match="there is no run"):
        RunStore(tmp_path / "runs" / "half")


LIMITED = """
import resource, sys
from pathlib import Path
from replay.core.errors import RunError
from replay.store.store import RunStore

resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    RunStore.create(Path(sys.argv[1]), {"name": "x"})
except RunError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_database_that_can_t_be_made_leaves_no_folder(tmp_path):
    program = [sys.executable, "-c", LIMITED, str(tmp_path / "runs" / "one")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert "can't be made" in done.stdout, done.stderr
    assert str(tmp_path / "runs" / "one" / "run.db") in done.stdout
    assert not (tmp_path / "runs" / "one").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such modes")
def test_a_run_is_its_owners_alone_whatever_is_usual_here(tmp_path):
    """While it is written and after it, with what SQLite puts beside the database; what lies above stays."""
    (tmp_path / "shared").mkdir()
    folder = tmp_path / "shared" / "runs" / "one"
    usual = os.umask(0)
    try:
        store = RunStore.create(folder, {"name": "x"})
        store.add_conversations([conversation(("Q?", "A."))])
        while_written = modes(folder)
        store.close()
    finally:
        os.umask(usual)

    assert {"run.db", "run.db-wal", "run.db-shm", "lock"} == while_written.keys()
    assert set(while_written.values()) == set(modes(folder).values()) == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o777


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_what_is_planted_beside_the_tables_calls_no_function(tmp_path):
    """Whoever opens a sent database without looking at its tables."""
    path = tmp_path / "run" / "run.db"
    make(path, {}, has_turn_key=True)
    with closing(connect(path)) as connection:
        connection.executescript(
            "DROP TABLE event;CREATE VIEW event AS SELECT 1 AS id, 'k' AS kind, deflated(zeroblob(9)) AS data"
        )
        with pytest.raises(sqlite3.OperationalError, match="unsafe use of deflated"):
            connection.execute("SELECT data FROM event").fetchall()
