"""Conversations side by side: how many, from where, and what an observer is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager

import pytest

from replay.core.errors import DatasetError
from replay.play import engine
from replay.play.engine import FETCHED_AT_ONCE, SharedIterator, play_all
from replay.play.play import Play, System
from replay.play.player import PlayOptions
from replay.policies.recorded import GoldPolicy
from tests.samples import ALBUM, Fake, Recorded, conversation
from tests.waiting import PATIENCE_S, others_first, until_async


def plays(system: System, count: int) -> Iterator[Play]:
    for number in range(count):
        talk = conversation(("One?", "1"), ("Two?", "2"), id=f"c{number}")
        yield Play(system=system, policy_name="gold", policy=GoldPolicy(), conversation=talk)


class Gate(Fake):
    """Lets nobody in before *wanted* sessions are open, and counts the most at a time."""

    def __init__(self, wanted: int) -> None:
        super().__init__("a", "b")
        self.wanted, self.inside, self.most = wanted, 0, 0
        self.full = asyncio.Event()

    @asynccontextmanager
    async def session(self, conversation):
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside == self.wanted:
            self.full.set()
        await self.full.wait()
        async with super().session(conversation) as session:
            yield session
        self.inside -= 1


async def test_as_many_conversations_as_said_are_open_at_a_time():
    """Fewer would never open the gate."""
    gate = Gate(3)
    system = System(name="gate", adapter=gate)
    sink = Recorded()
    await play_all(plays(system, 12), PlayOptions(), systems=(system,), sink=sink, concurrency=3)

    assert gate.most == 3
    assert sorted((r.conversation, r.depth) for r in sink.records) == sorted(
        (f"c{n}", depth) for n in range(12) for depth in (1, 2)
    )


async def test_an_observer_is_told_of_a_record_once_it_is_durable_and_of_a_conversation_at_its_end():
    told: list[str] = []

    class Observer:
        def recorded(self, record):
            told.append(f"{record.conversation}#{record.depth}")
            assert record in sink.records

        def played(self, play):
            told.append(play.conversation.id)

    sink = Recorded()
    system = System(name="fake", adapter=Fake("a", "b"))
    named = {"systems": (system,), "sink": sink, "observer": Observer()}
    await play_all(plays(system, 2), PlayOptions(), concurrency=1, **named)

    assert told == ["c0#1", "c0#2", "c0", "c1#1", "c1#2", "c1"]


async def test_what_was_read_before_bad_data_is_played():
    system = System(name="fake", adapter=Fake("a", "b"))

    def source() -> Iterator[Play]:
        yield from plays(system, 2)
        raise DatasetError("no JSON", path="talks.jsonl", line=3)

    sink = Recorded()
    with pytest.raises(DatasetError, match="no JSON"):
        await play_all(source(), PlayOptions(), systems=(system,), sink=sink, concurrency=1)
    assert [r.conversation for r in sink.records] == ["c0", "c0", "c1", "c1"]


async def test_the_loops_lag_is_given_back_and_the_endpoint_is_open_only_meanwhile():
    opened: list[str] = []

    class Pool(Fake):
        async def __aenter__(self):
            opened.append("open")

        async def __aexit__(self, *error):
            opened.append("closed")

        def session(self, conversation):
            opened.append("session")
            return super().session(conversation)

    system = System(name="pool", adapter=Pool("a", "b", "c"))
    play = Play(system=system, policy_name="gold", policy=GoldPolicy(), conversation=ALBUM)
    lags = await play_all(iter([play]), PlayOptions(), systems=(system,), sink=Recorded(), concurrency=1)

    assert opened == ["open", "session", "closed"]
    assert lags == {}  # it answers in this process: there is no wire at which a reply could be late


async def drawn(source: SharedIterator) -> list[object]:
    return [item async for item in source]


async def test_a_shared_iterator_gives_each_item_once_to_whoever_comes():
    source = SharedIterator(iter(range(100)))
    shares = await asyncio.gather(*(drawn(source) for _ in range(7)))

    assert sorted(item for share in shares for item in share) == list(range(100))


async def test_it_is_advanced_outside_the_loops_thread_and_only_a_little_ahead(monkeypatch):
    monkeypatch.setattr(engine, "FETCHING_S", float("inf"))
    threads, given = set(), []

    def source():
        for number in range(1000):
            threads.add(threading.get_ident())
            given.append(number)
            yield number

    shared = SharedIterator(source())
    assert await anext(shared) == 0
    assert len(given) == FETCHED_AT_ONCE
    assert threading.get_ident() not in threads


async def test_nobody_waits_for_items_of_others_once_one_is_there(monkeypatch):
    monkeypatch.setattr(engine, "FETCHING_S", -1.0)
    given = []
    shared = SharedIterator(given.append(n) or n for n in range(9))

    assert await anext(shared) == 0
    assert given == [0]


async def test_who_is_cancelled_while_plays_are_fetched_waits_for_the_thread_that_fetches():
    """It reads from a database that is closed next, and SQLite crashes where that is still in use."""
    begun, go_on, over = (threading.Event() for _ in range(3))

    def plays():
        begun.set()
        go_on.wait(PATIENCE_S)
        over.set()
        yield from ()

    drawing = asyncio.create_task(SharedIterator(plays()).__anext__())
    await until_async(begun.is_set)
    drawing.cancel()
    await others_first()
    left_it = drawing.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await drawing
    assert not left_it
    assert over.is_set()
