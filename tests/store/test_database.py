"""
A new run's database is there as a whole or not at all.

Workers that write a run's database beside the program that holds it.
"""

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
from replay.store import database
from replay.store.database import LOCK, OPEN, Mark, connect, make, read_mark
from replay.store.store import RunStore
from tests.samples import conversation
from tests.store.test_store import record

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


@pytest.fixture
def program(tmp_path):
    store = RunStore.create(tmp_path / "run", {})
    store.settle()
    yield store
    store.close()


async def written(program, worker, *conversations):
    """Have *worker* write a turn of each of *conversations*, and end."""
    store = RunStore(program.folder, write=True, worker=worker)
    for name in conversations:
        await store.write(record(name))
    store.close()


async def test_what_workers_and_the_program_write_is_in_one_database(program):
    await written(program, 0, "a", "b")
    await program.write(record("c"))
    await written(program, 1, "d")
    assert [row[0] for row in program.rows("SELECT conversation FROM turn ORDER BY rowid")] == list("abcd")


async def test_a_worker_that_ends_leaves_the_run_open_and_the_program_closes_it(program, tmp_path):
    await written(program, 0, "a")
    assert program.fact(OPEN)
    program.close()
    assert not RunStore(tmp_path / "run").fact(OPEN)


def test_a_run_is_held_until_its_workers_have_ended_too(program, monkeypatch):
    monkeypatch.setattr(database, "WORKERS_END_S", 0.0)
    of_worker = os.dup(program.lock)
    program.close()
    with pytest.raises(RunError, match="another process is writing"):
        RunStore(program.folder, write=True)
    os.close(of_worker)
    RunStore(program.folder, write=True).close()


async def test_how_far_commits_came_is_known_whoever_made_the_last(program):
    await written(program, 1, "a", "b", "c")
    assert read_mark(program.folder) == Mark(0, 3), "the program has not committed since"
    await program.write(record("d"))
    assert read_mark(program.folder) == Mark(0, 4)


async def test_a_turn_that_a_worker_stored_and_that_is_gone_is_missed_once(program, tmp_path):
    await written(program, 1, "a", "b")
    program.close()
    (folder := tmp_path / "copy").mkdir()
    RunStore.create(tmp_path / "older", {}).close()
    (folder / "run.db").write_bytes((tmp_path / "older" / "run.db").read_bytes())
    (folder / LOCK).write_bytes((program.folder / LOCK).read_bytes())
    again = RunStore(folder, write=True)
    assert again.missing is not None
    assert again.missing.turns == 2
    again.close()
    later = RunStore(folder, write=True)
    assert later.missing is None
    later.close()
