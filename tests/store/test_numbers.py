"""The numbers of a run's turns, batch by batch."""

from __future__ import annotations

import sqlite3

import pytest

from replay.core.conversation import Conversation
from replay.core.errors import RunError
from replay.core.record import ServerTimes, Timing, Usage
from replay.store import numbers
from replay.store.numbers import NumberReader
from replay.store.reader import DATABASE
from replay.store.rows import StoredScore, StoredTally
from replay.store.store import RunStore
from tests.store.test_store import record

TOTAL = b'{"total_s":0.5}'


def timed(at_s: float, **changes):
    timing = Timing(
        scheduled_s=at_s,
        sent_s=at_s + 1,
        first_token_s=at_s + 2,
        done_s=at_s + 4,
        token_gaps_100us=(5, 6),
        server=ServerTimes(total_s=0.5),
    )
    return record(timing=timing, **changes)


@pytest.fixture
async def folder(tmp_path):
    """Two conversations, one played once more under another id; a score each for two turns; one tally."""
    store = RunStore.create(tmp_path / "run", {})
    store.add_conversations([Conversation(id=name, turns=()) for name in ("a", "b")])
    await store.write(timed(10, conversation="b", depth=1, usage=Usage(completion_tokens=7), attempts=3))
    await store.write(timed(20, conversation="a", depth=2, outcome="refused", answer=None, error="No, ☃."))
    await store.write(timed(30, conversation="a~2", source="a", depth=1, policy="gold"))
    scores = [
        StoredScore(conversation="b", system="s", policy="pred", depth=1, value=0.5, unscored=None),
        StoredScore(conversation="a", system="s", policy="pred", depth=2, value=None, unscored="refused"),
    ]
    store.add_scores("f1", scores)
    store.set_tally(
        StoredTally(level=0, system="s2", policy="pred", depth=1, data={"outcomes": {"answered": 4}})
    )
    store.close()
    return tmp_path / "run"


def all_rows(batches):
    return [row for rows in batches for row in rows]


def test_asks_come_in_the_order_of_writing_with_their_times(folder):
    with NumberReader(folder) as reader:
        found = all_rows(reader.asks())

    assert found == [
        (1, 10, 11, 12, 14, b"answered", 1, 3, 1, 7, b"[5,6]", TOTAL, b"s", b"pred", b"b"),
        (2, 20, 21, 22, 24, b"refused", 2, 1, 1, None, b"[5,6]", TOTAL, b"s", b"pred", b"a"),
        (3, 30, 31, 32, 34, b"answered", 1, 1, 1, None, b"[5,6]", TOTAL, b"s", b"gold", b"a"),
    ]


@pytest.mark.parametrize(
    ("due_s", "rows"), [((10, 30), [1, 2]), ((10.1, 30.1), [2, 3]), ((0, 10), []), ((30, 99), [3])]
)
def test_asks_can_be_of_a_span_that_its_end_is_not_part_of(folder, due_s, rows):
    with NumberReader(folder) as reader:
        assert [row[0] for row in all_rows(reader.asks(due_s))] == rows


def test_plays_come_conversation_by_conversation(folder):
    with NumberReader(folder) as reader:
        assert all_rows(reader.plays()) == [
            (2, b"a", b"s", b"pred"),
            (3, b"a~2", b"s", b"gold"),
            (1, b"b", b"s", b"pred"),
        ]


def test_groups_are_those_of_turns_and_of_tallies(folder):
    with NumberReader(folder) as reader:
        assert sorted(reader.groups()) == [("s", "gold"), ("s", "pred"), ("s2", "pred")]


def test_scores_come_with_their_turns_rows(folder):
    with NumberReader(folder) as reader:
        assert sorted(all_rows(reader.scores("f1"))) == [
            (1, b"0.5", None),
            (2, None, b"refused"),
        ]
        assert all_rows(reader.scores("em")) == []


def test_errors_are_looked_up_by_row(folder):
    with NumberReader(folder) as reader:
        assert [reader.error(row) for row in (1, 2, 99)] == [None, "No, ☃.", None]


def test_batches_are_full_but_for_the_last(folder, monkeypatch):
    monkeypatch.setattr(numbers, "BATCH", 2)
    with NumberReader(folder) as reader:
        assert [len(rows) for rows in reader.asks()] == [2, 1]


def test_a_database_without_our_tables_is_named(folder):
    with sqlite3.connect(folder / DATABASE) as other:
        other.execute("DROP TABLE score")
    other.close()
    with (
        NumberReader(folder) as reader,
        pytest.raises(RunError, match=r'run\.db" can\'t be read: no such table'),
    ):
        all_rows(reader.scores("f1"))


def test_it_is_closed_at_the_blocks_end(folder):
    with NumberReader(folder) as reader:
        pass
    with pytest.raises(RunError, match="closed"):
        reader.groups()
