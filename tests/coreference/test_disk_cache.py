"""Gold-side results on disk: found again, never in the way of a run."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from replay.core.history import Exchange
from replay.coreference.disk_cache import FILE, DiskCache, cache_folder, key_of
from replay.coreference.resolver import Document, Span
from replay.coreference.service import CoreferenceService, ResolverChoice


def document(n: int) -> Document:
    return Document(question=f"Did he like it {n}?", turns=(Exchange(question="Who?", answer="Bob Stone."),))


def test_what_was_put_is_got_by_another(tmp_path):
    DiskCache(tmp_path).put({b"a": b"1", b"b": b""})
    assert DiskCache(tmp_path).get([b"a", b"b", b"c"]) == {b"a": b"1", b"b": b""}
    assert DiskCache(tmp_path / "other").get([b"a"]) == {}


def test_a_key_changes_with_the_question_the_history_the_resolver_and_what_is_asked_of_it():
    keys = {
        key_of("read", "slow-1", document(1)),
        key_of("read", "slow-1", document(2)),
        key_of("read", "slow-2", document(1)),
        key_of("resolve", "slow-1", document(1)),
        key_of("read", "slow-1", Document(question="Did he like it 1?", title="Bob Stone.")),
    }
    assert len(keys) == 5
    assert key_of("read", "slow-1", document(1)) in keys


@pytest.mark.parametrize("damage", [b"not a database at all" * 500, b""])
def test_a_damaged_file_is_made_anew(tmp_path, damage, caplog):
    cache = DiskCache(tmp_path)
    cache.put({b"a": b"1"})
    (tmp_path / FILE).write_bytes(damage)
    with caplog.at_level(logging.INFO):
        assert cache.get([b"a"]) == {}
    assert all(record.levelno == logging.INFO for record in caplog.records)
    cache.put({b"a": b"2"})
    assert cache.get([b"a"]) == {b"a": b"2"}


def test_a_file_damaged_in_the_middle_is_made_anew(tmp_path):
    cache = DiskCache(tmp_path)
    cache.put({bytes([n]) * 32: bytes(500) for n in range(200)})
    content = bytearray((tmp_path / FILE).read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (tmp_path / FILE).write_bytes(content)
    assert cache.get([b"\x01" * 32]) == {}
    cache.put({b"a": b"2"})
    assert cache.get([b"a"]) == {b"a": b"2"}


def test_the_file_stays_about_as_large_as_allowed_and_the_newest_stay(tmp_path):
    cache = DiskCache(tmp_path, largest_bytes=200_000)
    for n in range(100):
        cache.put({f"{n}-{i}".encode(): os.urandom(1000) for i in range(10)})
    assert (tmp_path / FILE).stat().st_size < 300_000
    assert len(cache.get([f"99-{i}".encode() for i in range(10)])) == 10
    assert cache.get([b"0-0"]) == {}


def test_where_nothing_can_be_written_there_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file")
    cache.put({b"a": b"1"})
    assert cache.get([b"a"]) == {}


def test_another_process_that_writes_for_long_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("replay.coreference.disk_cache.WAIT_S", 0.05)
    cache = DiskCache(tmp_path)
    cache.put({b"a": b"1"})
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache.put({b"b": b"1"})
    assert cache.get([b"a"]) == {}
    other.execute("ROLLBACK")
    other.close()
    assert cache.get([b"a", b"b"]) == {b"a": b"1"}


def test_many_may_write_at_once(tmp_path):
    def write(n: int) -> None:
        for i in range(20):
            DiskCache(tmp_path).put({f"{n}-{i}".encode(): b"x"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(DiskCache(tmp_path).get([f"{n}-{i}".encode() for n in range(4) for i in range(20)])) == 80


def test_the_environment_says_where(tmp_path, monkeypatch):
    monkeypatch.delenv("CONVREPLAY_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "convreplay"
    monkeypatch.setenv("CONVREPLAY_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("CONVREPLAY_CACHE", "off")
    assert cache_folder() is None
    DiskCache().put({b"a": b"1"})
    assert DiskCache().get([b"a"]) == {}


SLOW = textwrap.dedent(
    """
    from pathlib import Path
    from replay.coreference.resolver import Span
    from replay.core.drift_evidence import Mention, Reading

    class Slow:
        worth_caching = True
        def __init__(self, folder: Path, version: int = 1):
            self.folder, self.signature = folder, f"slow-{version}"
        def resolve(self, documents):
            with (self.folder / "asked").open("a") as file:
                file.writelines(f"{d.question}\\n" for d in documents)
            return [[(Span(start=0, end=3), Span(start=5, end=7))] for _ in documents]

    class SlowReader(Slow):
        def read(self, documents):
            self.resolve(documents)
            mention = Mention(start=4, end=6, text="he", kind="he")
            reading = Reading(mention=mention, antecedent="Bob", distribution=((0.5, "Bob"),))
            return [(reading,) for _ in documents]

    class Quick(Slow):
        worth_caching = False
    """
)


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """Resolvers that are worth caching, and note what they were asked; and one that isn't."""
    monkeypatch.setenv("CONVREPLAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine.py").write_text(SLOW)
    return tmp_path


def service(folder, name="Slow", workers=0, **settings) -> CoreferenceService:
    choice = ResolverChoice(name=f"mine.py:{name}", settings=settings, folder=folder)
    return CoreferenceService(choice, workers=workers)


def asked(folder) -> list[str]:
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize("workers", [0, 1])
async def test_gold_documents_are_resolved_once_for_all_runs_and_others_in_each(slow, workers):
    expected = [(Span(start=0, end=3), Span(start=5, end=7))]
    for _ in range(2):
        async with service(slow, workers=workers) as coreference:
            found = await asyncio.gather(
                coreference.clusters(document(1), gold=True),
                coreference.clusters(document(2)),
                coreference.clusters(document(3), gold=True),
            )
            assert found == [expected] * 3
            await coreference.read(document(3), gold=True)
    questions = [d.question for d in (document(1), document(2), document(3), document(2))]
    assert asked(slow) == questions


async def test_readings_of_a_resolvers_own_come_back_as_they_were(slow):
    async with service(slow, "SlowReader") as coreference:
        first = await coreference.read(document(1), gold=True)
    async with service(slow, "SlowReader") as coreference:
        assert await coreference.read(document(1), gold=True) == first
    assert first[0].distribution == ((0.5, "Bob"),)
    assert len(asked(slow)) == 1


async def test_another_version_of_the_resolver_looks_for_itself(slow):
    for version in (1, 2, 1):
        async with service(slow, version=version) as coreference:
            await coreference.clusters(document(1), gold=True)
    assert len(asked(slow)) == 2


async def test_an_entry_of_another_shape_is_worked_out_again_and_replaced(slow):
    DiskCache().put({key_of("resolve", "slow-1", document(1)): b'[["other"]]'})
    for _ in range(2):
        async with service(slow) as coreference:
            assert len(await coreference.clusters(document(1), gold=True)) == 1
    assert len(asked(slow)) == 1


async def test_a_quick_resolver_leaves_the_disk_alone(slow):
    async with service(slow, "Quick") as coreference:
        await coreference.clusters(document(1), gold=True)
    assert not (slow / "cache").exists()
