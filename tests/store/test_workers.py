"""Workers that write a run's database beside the program that holds it."""

from __future__ import annotations

import os

import pytest

from replay.core.errors import RunError
from replay.store import database
from replay.store.database import LOCK, OPEN, Mark, read_mark
from replay.store.store import RunStore
from tests.store.test_store import record


@pytest.fixture
def program(tmp_path):
    store = RunStore.create(tmp_path / "run", {})
    store.settle()
    yield store
    store.close()


async def written(program, worker, *conversations):
    """Have *worker* write a turn of each of *conversations*, and end."""
    store = RunStore(program.folder, write=True, worker=worker)
    for conversation in conversations:
        await store.write(record(conversation))
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
