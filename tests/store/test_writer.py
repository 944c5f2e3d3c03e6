"""The thread that writes: what it was given is there at its end, and a fault is everybody's."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from io import BytesIO

import pytest

from replay.core.errors import RunError
from replay.store import schema
from replay.store.reader import DATABASE
from replay.store.store import RunStore
from replay.store.writer import CHECKPOINT_PAGES, Statement, Writer
from tests.store.test_store import record


@pytest.fixture
def path(tmp_path):
    RunStore.create(tmp_path / "run", {}).close()
    return tmp_path / "run" / DATABASE


def depths(path):
    with closing(sqlite3.connect(path)) as connection:
        return [depth for (depth,) in connection.execute("SELECT depth FROM turn ORDER BY rowid")]


def test_a_record_of_a_loop_that_ended_at_once_is_written_at_the_close(path):
    writer = Writer(path, synchronous="NORMAL", lock=BytesIO())
    loop = asyncio.new_event_loop()

    def write_and_stop() -> None:
        writer.write(schema.record_row(record(depth=1)))
        loop.stop()

    loop.call_soon(write_and_stop)
    loop.run_forever()
    writer.close()
    loop.close()
    assert depths(path) == [1]


async def test_what_is_written_in_one_turn_of_the_loop_goes_in_order_with_what_follows(path):
    writer = Writer(path, synchronous="NORMAL", lock=BytesIO())
    first = [writer.write(schema.record_row(record(depth=n))) for n in (3, 1, 2)]
    assert not any(future.done() for future in first), "durable only once it is committed"
    await asyncio.gather(*first)
    await writer.write_all([schema.record_row(record(depth=n)) for n in (5, 4)])
    writer.close()
    assert depths(path) == [3, 1, 2, 5, 4]


async def test_statements_before_records_are_in_their_transaction(path):
    writer = Writer(path, synchronous="NORMAL", lock=BytesIO())
    await writer.write(schema.record_row(record(depth=1)))
    await writer.write_all([schema.record_row(record(depth=2))], [Statement("DELETE FROM turn", ())])
    assert depths(path) == [2]
    bad = [Statement("DELETE FROM turn", ()), Statement("DELETE FROM nowhere", ())]
    with pytest.raises(RunError, match="no such table: nowhere"):
        await writer.write_all([schema.record_row(record(depth=3))], bad)
    assert depths(path) == [2], "nothing of a transaction that failed stays"
    with pytest.raises(RunError):
        writer.close()


async def test_after_a_failure_everything_is_refused_with_its_cause(path):
    """Or a run would go on asking, and lose the answers."""
    writer = Writer(path, synchronous="NORMAL", lock=BytesIO())
    writer.post("INSERT INTO nowhere VALUES (1)", ())
    unwritable = r"run\.db can't be written: no such table: nowhere\. .*`replay resume`"
    with pytest.raises(RunError, match=unwritable):
        writer.flush()
    for refused in (
        lambda: writer.post("SELECT 1", ()),
        lambda: writer.write(schema.record_row(record())),
        lambda: writer.write_all([schema.record_row(record())]),
        writer.flush,
        writer.close,
    ):
        with pytest.raises(RunError, match=unwritable):
            refused()
    assert depths(path) == []


@pytest.mark.parametrize(("durability", "level"), [("process", 1), ("power", 2)])
def test_durability_is_how_sqlite_syncs(tmp_path, monkeypatch, durability, level):
    seen = []

    class Asking(Writer):
        def _commit(self, connection, batch):
            asked = ("synchronous", "wal_autocheckpoint", "journal_mode")
            seen.append(tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked))
            super()._commit(connection, batch)

    monkeypatch.setattr("replay.store.store.Writer", Asking)
    store = RunStore.create(tmp_path / "run", {}, durability)
    store.set_fact("a", 1)
    store.close()
    assert set(seen) == {(level, CHECKPOINT_PAGES, "wal")}


def test_facts_events_and_tallies_come_back_and_are_replaced(tmp_path):
    store = RunStore.create(tmp_path / "run", {"any": {"a": [1]}, "seed": 7})
    store.set_fact("seed", 8)
    store.add_event("resumed", {"n": 1})
    store.add_event("other", {})
    store.add_event("resumed", {"n": 2})
    store.settle()
    assert (store.fact("any"), store.fact("seed"), store.fact("none")) == ({"a": [1]}, 8, None)
    assert [event["n"] for event in store.events("resumed")] == [1, 2]
    store.close()
