"""Results on disk: found again, never in the way of a run."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from replay.core.disk_cache import DiskCache, cache_path, content_key
from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "sub" / "cache.db"


def document(question: str) -> Document:
    return Document(question=question, turns=(Exchange(question="Who?", answer="Bob Stone."),))


def test_what_was_put_is_got_by_another(path, tmp_path):
    DiskCache(path).put({b"a": b"1", b"b": b""})
    assert DiskCache(path).get([b"a", b"b", b"c"]) == {b"a": b"1", b"b": b""}
    DiskCache(path).put({b"a": b"2"})
    assert DiskCache(path).get([b"a"]) == {b"a": b"2"}


def test_looking_makes_no_file(path):
    cache = DiskCache(path)
    assert cache.get([b"a"]) == {}
    assert not path.parent.exists()
    assert cache.problem is None


def test_everything_that_moves_a_result_is_in_its_key():
    """Lone surrogates, as a data file or a server may spell them, are no obstacle."""
    keys = {
        content_key("read", "slow-1", document("Did he?")),
        content_key("read", "slow-1", document("Did he \ud83d?")),
        content_key("read", "slow-1", Document(question="Did he?", title="Bob Stone.")),
        content_key("read", "slow-2", document("Did he?")),
        content_key("resolve", "slow-1", document("Did he?")),
        content_key({"a": 1, "b": 2}),
        content_key({"a": 1}, {"b": 2}),
    }
    assert len(keys) == 7
    assert content_key({"b": 2, "a": 1}) in keys


@pytest.mark.parametrize("damage", [b"not a database at all" * 500, b"", None])
def test_a_damaged_file_of_ours_is_made_anew(path, damage):
    cache = DiskCache(path, renew_damaged=True)
    cache.put({bytes([n]) * 32: bytes(500) for n in range(200)})
    if damage is None:  # in its middle
        content = path.read_bytes()
        damage = content[:4096] + b"\xff" * (len(content) - 4096)
    path.write_bytes(damage)
    assert cache.get([b"\x01" * 32]) == {}
    cache.put({b"a": b"2"})
    assert cache.get([b"a"]) == {b"a": b"2"}
    assert cache.problem is None


def text(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to look at" * 30)


def table(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (id)")
    db.close()


def of_another_version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


@pytest.mark.parametrize("make", [text, table, of_another_version])
def test_a_file_of_somebody_elses_is_left_alone(tmp_path, make):
    path = tmp_path / "file"
    make(path)
    before = path.read_bytes()
    cache = DiskCache(path)
    cache.put({b"a": b"1"})
    assert cache.get([b"a"]) == {}
    assert f"{path} can't be used: " in cache.problem
    assert path.read_bytes() == before


def test_the_file_stays_about_as_large_as_allowed_and_the_newest_stay(path):
    cache = DiskCache(path, largest_bytes=200_000)
    for n in range(100):
        cache.put({f"{n}-{i}".encode(): os.urandom(1000) for i in range(10)})
    assert path.stat().st_size < 300_000
    assert len(cache.get(f"99-{i}".encode() for i in range(10))) == 10
    assert cache.get([b"0-0"]) == {}


def test_where_nothing_can_be_written_there_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file" / "cache.db")
    cache.put({b"a": b"1"})
    assert cache.get([b"a"]) == {}
    assert "can't be used" in cache.problem


def test_another_process_that_writes_for_long_is_not_waited_for_for_ever(path, monkeypatch):
    monkeypatch.setattr("replay.core.disk_cache.WAIT_S", 0.05)
    cache = DiskCache(path)
    cache.put({b"a": b"1"})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache.put({b"b": b"1"})
    assert cache.get([b"a"]) == {}
    other.execute("ROLLBACK")
    other.close()
    assert cache.get([b"a", b"b"]) == {b"a": b"1"}


PROGRAM = """
import sys
from pathlib import Path
from replay.core.disk_cache import DiskCache

cache = DiskCache(Path(sys.argv[1]))
for n in range(20):
    if not cache.get([f"shared-{n}".encode()]):
        cache.put({f"shared-{n}".encode(): b"x"})
    cache.put({f"{sys.argv[2]}-{n}".encode(): b"x"})
print(cache.problem)
"""


def test_several_processes_share_it(path):
    names = [f"p{n}" for n in range(4)]
    processes = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), name], stdout=subprocess.PIPE)
        for name in names
    ]
    assert [process.communicate()[0].strip() for process in processes] == [b"None"] * 4
    keys = [f"{name}-{n}".encode() for name in ("shared", *names) for n in range(20)]
    assert len(DiskCache(path).get(keys)) == len(keys)


def test_the_environment_says_where(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CONVREPLAY_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_path("x.db") == tmp_path / ".cache" / "convreplay" / "x.db"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_path("x.db") == tmp_path / "xdg" / "convreplay" / "x.db"
    monkeypatch.setenv("CONVREPLAY_CACHE", "~/mine")
    assert cache_path("x.db") == tmp_path / "mine" / "x.db"
    monkeypatch.setenv("CONVREPLAY_CACHE", "./off")
    assert cache_path("x.db") == Path("off/x.db")
    monkeypatch.setenv("CONVREPLAY_CACHE", "")
    assert cache_path("x.db") == tmp_path / "xdg" / "convreplay" / "x.db"


@pytest.mark.parametrize("off", ["off", "OFF", "None", "no", "false", "0"])
def test_a_cache_that_is_off_leaves_no_folder_of_that_name(off, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONVREPLAY_CACHE", off)
    DiskCache(cache_path("x.db")).put({b"a": b"1"})

    assert cache_path("x.db") is None
    assert list(tmp_path.iterdir()) == []


def test_no_file_keeps_nothing():
    DiskCache(None).put({b"a": b"1"})
    assert DiskCache(None).get([b"a"]) == {}
