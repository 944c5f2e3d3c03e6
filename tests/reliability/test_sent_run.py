"""A run that somebody sent, with numbers and tables that no run has: said in a sentence, and in time."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.cli.command import replay_cli, replay_process
from tests.reliability.programs import only_run, write_scenario

LOOKS = (("report",), ("export",), ("view", "--out", "page.html"), ("score",))
ENDLESS = """
DROP TABLE event;
CREATE VIEW event AS
WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
SELECT id, '' AS at, 'stopped' AS kind, '{}' AS data FROM n;
"""


@pytest.fixture(scope="module", params=["run", "stress"])
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    load = {"load": {"concurrency": 2, "conversations": 4}} if request.param == "stress" else {}
    write_scenario(folder, **load)
    assert replay_cli(request.param, "scenario.yaml", cwd=folder).returncode == 0
    return only_run(folder / "runs")


def changed(run, sql):
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.executescript(sql)


@pytest.mark.parametrize("depth", [2**62, -5])
@pytest.mark.parametrize("look", LOOKS, ids=" ".join)
def test_a_depth_that_no_conversation_has_is_no_bug(made, depth, look):
    """Whatever a verb can't do without is refused, in words; a bug would come out of the call."""
    where = "rowid = (SELECT max(rowid) FROM turn)"
    with closing(sqlite3.connect(made / "run.db")) as connection:
        ((before,),) = connection.execute(f"SELECT depth FROM turn WHERE {where}")
    changed(made, f"UPDATE turn SET depth = {depth} WHERE {where}")
    try:
        done = replay_cli(look[0], made, *look[1:], cwd=made.parent)
    finally:
        changed(made, f"UPDATE turn SET depth = {before} WHERE {where}")
    assert done.returncode in (0, 2), done.stderr


@pytest.mark.parametrize("column", ["scheduled_s", "sent_s", "done_s", "started_at"])
@pytest.mark.parametrize("moment", ["-1e308", "9e999"])
def test_a_moment_that_no_run_has_is_no_bug(made, column, moment):
    where = "rowid = (SELECT max(rowid) FROM turn)"
    with closing(sqlite3.connect(made / "run.db")) as connection:
        ((before,),) = connection.execute(f"SELECT {column} FROM turn WHERE {where}")
    changed(made, f"UPDATE turn SET {column} = {moment} WHERE {where}")
    try:
        for look in LOOKS:
            done = replay_cli(look[0], made, *look[1:], cwd=made.parent)
            assert done.returncode in (0, 2), done.stderr
    finally:
        changed(made, f"UPDATE turn SET {column} = {before} WHERE {where}")


def test_a_view_without_end_in_a_tables_place_is_refused(tmp_path):
    write_scenario(tmp_path)
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path).returncode == 0
    run = only_run(tmp_path / "runs")
    changed(run, ENDLESS)
    done = replay_process("report", run, cwd=tmp_path)
    assert done.returncode == 2
    assert 'its table "event" is not what convreplay makes' in done.stderr
