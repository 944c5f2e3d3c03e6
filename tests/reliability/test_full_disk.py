"""A disk that is full, files that may not grow: a clear error, nothing damaged, and the run goes on later."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from replay.core.disk_cache import DiskCache
from replay.results.run import Run
from tests.cli.command import replay_cli, replay_process
from tests.reliability.programs import only_run, small_disk, write_scenario

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits files and mounts file systems")

TALKS, TURNS = 40, 5


def big_scenario(folder):
    """Half a megabyte of answers."""
    return write_scenario(folder, talks=TALKS, turns=TURNS, filler="word " * 500)


def is_sound(run):
    with closing(sqlite3.connect(run / "run.db")) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def limited(size):
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def check_it_goes_on(run, folder):
    """What was answered is kept, and the rest is asked once there is room."""
    kept = {(r.conversation, r.depth): r.answer for r in Run(run).records()}
    assert len(kept) < TALKS * TURNS
    done = replay_cli("resume", run, cwd=folder)
    assert done.returncode == 0, done.stderr
    records = {(r.conversation, r.depth): r.answer for r in Run(run).records()}
    assert len(records) == len(Run(run).records()) == TALKS * TURNS
    assert kept.items() <= records.items()
    return kept


def test_a_file_that_may_not_grow_stops_the_run_and_resume_goes_on(tmp_path):
    big_scenario(tmp_path)
    done = replay_process("run", "scenario.yaml", cwd=tmp_path, preexec_fn=limited(1_500_000))
    assert done.returncode == 2
    assert "run.db can't be written" in done.stderr
    assert "replay resume" in done.stderr
    assert "Traceback" not in done.stderr
    run = only_run(tmp_path / "runs")
    assert is_sound(run)
    assert check_it_goes_on(run, tmp_path)


def test_a_full_disk_stops_the_run_and_resume_goes_on_once_there_is_room(tmp_path):
    big_scenario(tmp_path)
    with small_disk(tmp_path / "disk", "2m") as disk:
        done = replay_process("run", "scenario.yaml", "--runs", disk / "runs", cwd=tmp_path)
        assert done.returncode == 2
        assert "run.db can't be written" in done.stderr
        assert "full" in done.stderr
        assert "Traceback" not in done.stderr
        run = only_run(disk / "runs")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert is_sound(run)
        assert check_it_goes_on(run, tmp_path)


def test_a_full_disk_while_turns_are_asked_again_keeps_those_before(tmp_path):
    big_scenario(tmp_path)
    with small_disk(tmp_path / "disk", "32m") as disk:
        assert replay_cli("run", "scenario.yaml", "--runs", disk / "runs", cwd=tmp_path).returncode == 0
        run = only_run(disk / "runs")
        before = [(r.conversation, r.depth, r.answer) for r in Run(run).records()]
        disk_now = os.statvfs(disk)  # the write-ahead log's size says how busy the machine was
        (disk / "other").write_bytes(bytes(disk_now.f_bavail * disk_now.f_frsize - 400_000))
        done = replay_process("rerun", run, "--only", "depth>=1", cwd=tmp_path)
        assert done.returncode == 2
        assert "can't be written" in done.stderr
        assert [(r.conversation, r.depth, r.answer) for r in Run(run).records()] == before
        (disk / "other").unlink()
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert replay_cli("resume", run, cwd=tmp_path).returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("verb", [["export", "--format", "csv"], ["report"]])
def test_standard_output_on_a_full_disk_is_an_error_in_words(quick_run, verb):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "replay", verb[0], str(quick_run), *verb[1:]],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_cache_on_a_full_disk_stops_nobody_and_keeps_what_it_had(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        cache = DiskCache(disk / "cache.db")
        cache.put({b"a": b"1"})
        cache.put({b"b": bytes(1_000_000)})
        assert "full" in cache.problem
        assert cache.get([b"a", b"b"]) == {b"a": b"1"}
