"""Databases of an older version are brought to ours, after a backup; of a newer one they are refused."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from replay.core.errors import RunError
from replay.core.record import Timing, Usage
from replay.runs.run import Run
from replay.store import migration, schema
from replay.store.browsing import RunBrowser
from replay.store.lock import hold, let_go
from replay.store.store import RunStore
from tests.store.version_1 import SURROGATE, old_run


def version(path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def tables(path) -> dict[str, list]:
    with closing(sqlite3.connect(path)) as connection:
        names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


@pytest.mark.parametrize("write", [False, True])
def test_a_run_of_version_1_is_read_like_a_new_one(tmp_path, write):
    path = old_run(tmp_path / "run")
    store = RunStore(path.parent, write=write)
    first, second, *_ = store.records()
    store.close()
    assert first.answer == SURROGATE
    assert first.usage == Usage(prompt_tokens=12, completion_tokens=3)
    assert first.timing == Timing(scheduled_s=0.5, sent_s=0.75, done_s=2.0, first_byte_s=1.5)
    assert first.cost_usd == 0.25
    assert (second.outcome, second.error, second.usage) == ("timed-out", "no reply", None)
    assert version(path) == schema.VERSION


def test_a_migrated_database_has_the_tables_of_a_new_one(tmp_path):
    path = old_run(tmp_path / "run")
    RunStore(path.parent).close()
    RunStore.create(tmp_path / "new", {}).close()
    assert tables(path) == tables(tmp_path / "new" / "run.db")
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE name = 'turn_key'").fetchall()
        assert found == [("turn_key",)]
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_first_of_its_kind_had_no_verdicts(tmp_path):
    path = old_run(tmp_path / "run", verdicts=False)
    store = RunStore(path.parent)
    assert list(store.verdicts("any")) == []
    store.close()


def test_scores_conversations_events_and_facts_stay(tmp_path):
    path = old_run(tmp_path / "run", answer="Mira 1.")
    run = Run(path.parent)
    table = run.depth_table(resamples=0)
    assert table[table["depth"] == 1]["em"].item() == 0.0
    assert run.state().finished
    assert not run.is_load()
    assert len(run.conversations()) == 2
    with closing(sqlite3.connect(path)) as connection:
        kinds = [kind for (kind,) in connection.execute("SELECT kind FROM event ORDER BY id")]
    assert kinds == ["scored", "migrated"]


def test_the_backup_is_the_database_as_it_was(tmp_path):
    path = old_run(tmp_path / "run")
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        before = list(connection.execute("SELECT * FROM turn ORDER BY rowid"))
    RunStore(path.parent).close()
    backup = path.with_name("run.db.v1-backup")
    assert version(backup) == 1
    with closing(sqlite3.connect(backup)) as connection:
        connection.text_factory = bytes
        assert list(connection.execute("SELECT * FROM turn ORDER BY rowid")) == before
    assert sorted(p.name for p in path.parent.iterdir() if "backup" in p.name) == [backup.name]


def test_a_backup_that_is_there_is_never_written_over(tmp_path):
    path = old_run(tmp_path / "run")
    path.with_name("run.db.v1-backup").write_bytes(b"mine")
    RunStore(path.parent).close()
    assert path.with_name("run.db.v1-backup").read_bytes() == b"mine"
    assert version(path.with_name("run.db.v1-backup-2")) == 1


def test_it_is_done_once_and_said_once(tmp_path, caplog):
    path = old_run(tmp_path / "run")
    Run(path.parent).records()
    Run(path.parent).report(resamples=0)
    (said,) = caplog.messages
    assert "from version 1 to version 2" in said
    assert "run.db.v1-backup" in said


def test_a_page_on_the_run_brings_it_up_to_date_as_well(tmp_path):
    path = old_run(tmp_path / "run")
    browser = RunBrowser(path.parent)
    assert browser.progress().turns == 4
    browser.close()


def test_report_migrates_and_says_so_on_standard_error(tmp_path):
    path = old_run(tmp_path / "run", answer="Mira 1.")
    command = [sys.executable, "-m", "replay", "report", str(path.parent), "--resamples", "0"]
    done = [subprocess.run(command, capture_output=True, text=True, timeout=60) for _ in range(2)]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr
    assert done[0].stderr.count("was brought from version 1 to version 2") == 1
    assert done[1].stderr == ""


KILLED = """
import os, signal, sys
from pathlib import Path
from replay.store import migration
from replay.store.store import RunStore

def kill(connection):
    os.kill(os.getpid(), signal.SIGKILL)

migration._check = kill  # everything is written, and nothing committed
RunStore(Path(sys.argv[1]))
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_a_program_killed_on_the_way_leaves_version_1_intact(tmp_path):
    path = old_run(tmp_path / "run", conversations=500)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path.parent)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert version(path) == 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*), count(timing) FROM turn").fetchone() == (1000, 1000)
    store = RunStore(path.parent)
    assert store.count_records() == 1000
    store.close()


def test_a_failure_on_the_way_leaves_version_1_and_says_what_to_do(tmp_path, monkeypatch):
    path = old_run(tmp_path / "run", conversations=300, answer="long " * 100)
    pages = path.stat().st_size // 4096
    connect = schema.connect

    def full_disk(name):
        connection = connect(name)
        connection.execute(f"PRAGMA max_page_count={pages + 20}")
        return connection

    monkeypatch.setattr(migration.schema, "connect", full_disk)
    with pytest.raises(RunError, match=r"could not be brought from version 1.*full.*as it was"):
        RunStore(path.parent)
    assert version(path) == 1
    monkeypatch.undo()
    store = RunStore(path.parent)
    assert store.count_records() == 600
    store.close()


def test_what_calls_itself_version_1_and_is_not_stays_as_it_is(tmp_path):
    path = old_run(tmp_path / "run")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE score ADD COLUMN mine TEXT")
    with pytest.raises(RunError, match=r'"score".*left as it was'):
        RunStore(path.parent)
    assert version(path) == 1
    assert not list(path.parent.glob("*backup*"))
    assert "timing" in [column[1] for column in tables(path)["turn"]]


def test_an_older_program_that_is_writing_is_waited_for(tmp_path):
    path = old_run(tmp_path / "run")
    lock = hold(path.parent)
    try:
        with pytest.raises(RunError, match=r"version 1.*another process is writing"):
            RunStore(path.parent)
    finally:
        let_go(lock)
    assert version(path) == 1
    RunStore(path.parent).close()


@pytest.mark.parametrize("write", [False, True])
def test_a_newer_version_is_refused_with_what_to_do(tmp_path, write):
    RunStore.create(tmp_path / "run", {}).close()
    with closing(sqlite3.connect(tmp_path / "run" / "run.db")) as connection:
        connection.execute(f"PRAGMA user_version={schema.VERSION + 1}")
    with pytest.raises(RunError, match=rf"version {schema.VERSION + 1}.*or a newer one"):
        RunStore(tmp_path / "run", write=write)
    assert version(tmp_path / "run" / "run.db") == schema.VERSION + 1
