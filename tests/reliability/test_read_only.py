"""Where nobody can write: the message names the place and the reason, and nothing is left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from replay.core.disk_cache import DiskCache
from tests.cli.command import replay_cli
from tests.reliability.programs import only_run, read_only, write_scenario

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions and mounts of POSIX")


TABLES = ["--benchmark", "answers.csv", "--responses", "answers.csv", "--column", "Rouge-L"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a scenario, a run of it, and a table for score-file."""
    made = tmp_path_factory.mktemp("work")
    write_scenario(made, **{"assert": [{"metric": "f1", "min": 0.5}]})
    done = replay_cli("run", "scenario.yaml", cwd=made)
    assert done.returncode == 0, done.stderr
    (made / "answers.csv").write_text("id,question,answer,golden\n1,Who?,Mira.,Mira.\n")
    return made


def refused(done, *said):
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for text in said:
        assert text in done.stderr


def test_a_run_can_t_begin_in_a_read_only_folder(folder, tmp_path):
    (tmp_path / "runs").mkdir()
    with read_only(tmp_path / "runs") as runs:
        done = replay_cli("run", "scenario.yaml", "--runs", runs, cwd=folder)
        refused(done, str(runs), "can't be made", "ead-only file system")
        assert list(runs.iterdir()) == []


@pytest.mark.parametrize(
    "verb", [("resume",), ("score",), ("rerun", "--only", "depth=1"), ("report", "--resamples", "0")]
)
def test_a_run_on_a_read_only_medium_is_refused_with_what_to_do(folder, verb):
    run = only_run(folder / "runs")
    with read_only(run):
        refused(replay_cli(verb[0], run, *verb[1:], cwd=folder), str(run), "copy the")
    assert replay_cli("report", run, "--resamples", "0", cwd=folder).returncode == 0


def out_of_reach(kind: str, folder: Path, name: str) -> Path:
    """A file that can't be written: below a file, or where there is a folder."""
    if kind == "below a file":
        (folder / "file").write_text("")
        return folder / "file" / name
    (folder / name).mkdir()
    return folder / name


BELOW, INSTEAD = "below a file", "a folder"


@pytest.mark.parametrize(
    ("verb", "option", "name", "kind"),
    [
        (["report", "--resamples", "0"], "--html", "r.html", BELOW),
        (["report", "--resamples", "0"], "--junit", "r.xml", BELOW),
        (["resume"], "--junit", "r.xml", INSTEAD),
        (["rerun", "--only", "failed"], "--junit", "r.xml", INSTEAD),
        (["run", "scenario.yaml", "--runs", "more"], "--junit", "r.xml", INSTEAD),
        (["export"], "--out", "t.csv", BELOW),
        (["export"], "--out", "t.parquet", INSTEAD),
        (["export", "--table", "conversations"], "--out", "c.jsonl", BELOW),
        (["plot", "RUN", "--what", "latency"], "--out", "p.svg", INSTEAD),
        (["rewrite", "talks.jsonl"], "--out", "q.jsonl", BELOW),
        (["rewrite", "talks.jsonl"], "--out", "q.jsonl", INSTEAD),
        (["score-file", *TABLES], "--out", "s.csv", INSTEAD),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_an_output_that_can_t_be_written_is_named_with_the_reason(folder, tmp_path, verb, option, name, kind):
    out = out_of_reach(kind, tmp_path, name)
    verb = [str(only_run(folder / "runs")) if part == "RUN" else part for part in verb]
    done = replay_cli(*verb, option, out, cwd=folder)
    refused(done, str(out), "can't be written")
    assert not list(tmp_path.rglob("*.part"))


def test_evalconvqa_files_that_can_t_be_written_are_named(folder, tmp_path):
    out = out_of_reach("below a file", tmp_path, "files")
    refused(replay_cli("export", "--table", "evalconvqa", "--out", out, cwd=folder), str(out))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("verb", [["export", "--format", "csv", "--out"], ["report", "--html"]])
def test_an_output_on_a_full_disk_is_named_with_the_reason(folder, verb):
    refused(replay_cli(*verb, "/dev/full", cwd=folder), "/dev/full", "No space left on device")


def test_a_read_only_cache_is_read_and_stops_nobody(tmp_path):
    cache = DiskCache(tmp_path / "cache" / "cache.db")
    cache.put({b"a": b"1"})
    with read_only(tmp_path / "cache"):
        cache.put({b"b": b"1"})
        assert "read-only" in cache.problem or "readonly" in cache.problem
        assert cache.get([b"a", b"b"]) == {b"a": b"1"}
