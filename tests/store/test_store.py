"""The run's database."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.drift_evidence import Drift, Mention, MentionDrift, Reading
from replay.core.errors import RunError
from replay.core.record import ServerTimes, Timing, TurnRecord, Usage
from replay.store import schema, tables
from replay.store.database import connect
from replay.store.reader import DATABASE, RunReader
from replay.store.rows import StoredScore, StoredVerdict
from replay.store.store import RunStore
from tests.data_tables import from_table
from tests.scorers.turns import NOT_JUDGED


def record(conversation="c1", depth=1, policy="pred", **changes) -> TurnRecord:
    facts = {
        "system": "s",
        "policy": policy,
        "conversation": conversation,
        "depth": depth,
        "turn": f"{conversation}#{depth}",
        "recorded": "Where was she born?",
        "asked": "Where was Mira born?",
        "edit": "rewritten",
        "drift": None,
        "outcome": "answered",
        "answer": "There.",
    }
    return TurnRecord(**{**facts, **changes})


SERVER = ServerTimes(queue_s=0.25, prefill_s=0.5, dropped=2)


def full_record() -> TurnRecord:
    mention = Mention(start=10, end=13, text="she", kind="she")
    gold = Reading(mention=mention, antecedent="Mira", source="name", distribution=((0.9, "Mira"),))
    lost = Reading(mention=mention, antecedent=None)
    return record(
        drift=Drift(
            valid=False,
            mode="strict",
            mentions=(MentionDrift(gold=gold, predicted=lost, state="lost", overlap=0.0),),
        ),
        error="e",
        gold_answers=("a", "b"),
        gold_passages=("p",),
        passages=(Passage(id="p", text="t", title="x"),),
        usage=Usage(prompt_tokens=3, completion_tokens=None),
        cost_usd=0.25,
        attempts=2,
        timing=Timing(scheduled_s=0.0, sent_s=0.5, done_s=1.5, first_byte_s=1.0, server=SERVER),
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "one"


async def stored(folder, *records) -> list[TurnRecord]:
    store = RunStore.create(folder, {})
    try:
        conversations = dict.fromkeys(r.conversation for r in records)
        store.add_conversations([Conversation(id=conversation, turns=()) for conversation in conversations])
        await asyncio.gather(*(store.write(r) for r in records))
    finally:
        store.close()
    store = RunStore(folder)
    try:
        return list(store.records())
    finally:
        store.close()


async def test_a_record_comes_back_as_it_was(folder):
    assert await stored(folder, full_record()) == [full_record()]


async def test_a_question_that_was_not_judged_is_neither_valid_nor_invalid(folder):
    assert await stored(folder, record(drift=NOT_JUDGED)) == [record(drift=NOT_JUDGED)]
    connection = connect(folder / "run.db")
    assert list(connection.execute("SELECT valid FROM turn")) == [(None,)]
    connection.close()


texts = st.text(st.characters(codec=None), max_size=30)  # lone surrogates and NUL included


@given(sent=st.lists(st.tuples(texts, texts, st.none() | texts, st.none() | texts), max_size=4))
@example(sent=[("a", "b", None, None), ("\ud800", "b", None, None), ("a", "b", None, "\udfff")])
def test_any_texts_survive_the_way_through_rows(sent):
    """A server can send lone surrogates as JSON escapes, and a data set can hold NUL."""
    records = [
        record(depth=depth, answer=text, asked=other, gold_answers=(text, other), source=source, error=error)
        for depth, (text, other, source, error) in enumerate(sent, 1)
    ]
    connection = connect(Path(":memory:"))
    connection.executescript(tables.TABLES)
    schema.insert_records(connection, [schema.record_row(one) for one in records])
    rows = connection.execute(schema.SELECT_RECORDS).fetchall()
    connection.close()
    assert [schema.row_record(row) for row in rows] == records


@given(text=texts)
def test_any_conversation_survives_the_way_through_json(text):
    sent = Conversation(id=text, turns=(Turn(id="1", question=text),), metadata={"x": [1, text]})
    assert schema.from_json(schema.to_json(sent), Conversation) == sent


async def test_a_record_is_durable_when_write_returns(folder):
    store = RunStore.create(folder, {})
    try:
        await store.write(record())
        other = sqlite3.connect(folder / DATABASE)
        assert other.execute("SELECT count(*) FROM turn").fetchone() == (1,)
        other.close()
    finally:
        store.close()


async def test_a_cancelled_wait_does_not_take_the_record_back(folder):
    store = RunStore.create(folder, {})
    try:
        task = asyncio.ensure_future(store.write(record()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    finally:
        store.close()
    store = RunStore(folder)
    assert store.count_records() == 1
    store.close()


async def test_records_come_in_the_order_of_the_data(folder):
    sent = [record("z", 2), record("a", 1), record("z", 1), record("z", 1, policy="gold")]
    found = await stored(folder, *sent)
    assert [(r.conversation, r.policy, r.depth) for r in found] == [
        ("z", "gold", 1),
        ("z", "pred", 1),
        ("z", "pred", 2),
        ("a", "pred", 1),
    ]


async def test_repeats_come_in_the_order_of_their_numbers(folder):
    plays = [record("a", 1), *(record(f"a~{n}", 1, source="a", repeat=n) for n in (10, 2, 9))]
    store = RunStore.create(folder, {})
    store.add_conversations([Conversation(id="a", turns=(Turn(id="a#1", question="Who?"),))])
    for play in plays:
        await store.write(play)
        store.add_verdict(StoredVerdict("j", play.conversation, "s", "pred", 1, 1, 0, None, {}))
    store.settle()
    order = ["a", "a~2", "a~9", "a~10"]
    assert [(r.conversation, r.repeat) for r in store.records()] == list(
        zip(order, (1, 2, 9, 10), strict=True)
    )
    assert [r.repeat for r in store.outlines()] == [1, 2, 9, 10]
    assert [one.conversation for one in store.verdicts("j")] == order
    store.close()


async def test_the_same_turn_twice_is_an_error_and_not_a_second_row(folder):
    store = RunStore.create(folder, {})
    await store.write(record())
    with pytest.raises(RunError, match="can't be written"):
        await store.write(record())
    with pytest.raises(RunError):
        await store.write(record(depth=2))
    with pytest.raises(RunError):
        store.close()
    store = RunStore(folder)
    assert store.count_records() == 1
    store.close()


def test_a_second_writer_is_refused_and_the_first_goes_on(folder):
    first = RunStore.create(folder, {})
    with pytest.raises(RunError, match="another process"):
        RunStore(folder, write=True)
    first.close()
    RunStore(folder, write=True).close()


def test_reading_needs_no_lock(folder):
    first = RunStore.create(folder, {"name": "x"})
    second = RunStore(folder)
    assert second.fact("name") == "x"
    second.close()
    first.close()


@pytest.mark.parametrize("version", [0, 999])
@pytest.mark.parametrize("write", [False, True])
def test_a_database_of_another_version_is_refused_with_a_sentence(folder, version, write):
    RunStore.create(folder, {}).close()
    connection = sqlite3.connect(folder / DATABASE)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(RunError) as caught:
        RunStore(folder, write=write)
    assert str(caught.value) == (
        f'"{folder / DATABASE}" has version {version}, this program reads version {tables.VERSION}; '
        "use the convreplay that wrote it, or a newer one"
    )


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(RunError, match="there is no run"):
        RunStore(tmp_path)


def test_a_file_that_is_no_database_says_so(tmp_path):
    (tmp_path / DATABASE).write_text("not a database at all, but long enough to be looked at" * 30)
    with pytest.raises(RunError, match="not a run's database"):
        RunStore(tmp_path)


async def test_new_scores_wait_beside_the_earlier_ones_until_they_take_their_place(folder):
    store = RunStore.create(folder, {})
    before = [StoredScore("c", "s", "p", 1, 0.5, None)]
    store.add_scores("f1", before)
    store.add_scores("em", before)
    store.begin_staging()
    again = [StoredScore("c", "s", "p", 1, 0.75, None), StoredScore("c", "s", "p", 2, None, "skipped")]
    store.add_scores("f1", again, anew=True)
    await store.flush()
    assert list(store.scores("f1")) == before
    store.publish_staged(["f1"], facts={"scorers": ["f1"]}, event=("scored", {}))
    await store.flush()
    assert list(store.scores("em")) == before
    assert list(store.scores("f1")) == again
    store.close()


async def test_a_conversation_that_starts_again_leaves_no_old_turn(folder):
    store = RunStore.create(folder, {})
    await store.write(record())
    await store.write(record("c2"))
    store.forget("c1", "s", "pred")
    await store.flush()
    assert store.records_of("c1", "s", "pred") == ()
    assert len(store.records_of("c2", "s", "pred")) == 1
    store.close()


@from_table
def test_a_database_with_other_tables_than_ours_is_an_error_of_ours(folder, change):
    RunStore.create(folder, {}).close()
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.executescript(change)
    with pytest.raises(RunError, match="is not what convreplay makes; it is damaged, or somebody"):
        RunStore(folder)


def test_tables_and_indexes_of_somebodys_own_beside_ours_harm_nothing(folder):
    RunStore.create(folder, {}).close()
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.executescript("CREATE TABLE mine (x); CREATE INDEX kinds ON event (kind); ANALYZE")
    RunStore(folder).close()


@pytest.mark.parametrize("keyed", [True, False])
async def test_a_run_without_a_key_gets_one_where_it_is_opened_to_be_written(folder, keyed):
    """A load run does without while it asks; whoever goes on with it must not write a turn twice."""
    store = RunStore.create(folder, {}, has_turn_key=False)
    await store.write(record())
    store.close()
    store = RunStore(folder, write=True) if keyed else RunStore(folder, write=True, keyed=False)
    with pytest.raises(RunError, match="UNIQUE") if keyed else nullcontext():
        await store.write(record())
    with pytest.raises(RunError) if keyed else nullcontext():
        store.close()


def test_conversations_are_kept_together_or_not_at_all(folder):
    store = RunStore.create(folder, {})
    store.add_conversations([Conversation(id="a", turns=())])
    store.settle()
    store.add_conversations([Conversation(id="b", turns=()), Conversation(id="a", turns=())], 1)
    with pytest.raises(RunError, match="UNIQUE"):
        store.close()
    with closing(RunReader(folder)) as reader:
        assert list(reader.conversation_lengths()) == ["a"]


async def test_a_judges_verdicts_give_way_with_its_columns_and_no_others(folder):
    store = RunStore.create(folder, {})
    store.add_conversations([Conversation(id="c1", turns=())])
    await store.write(record())
    at = {"conversation": "c1", "system": "s", "policy": "pred", "depth": 1}

    def verdict(judge, asks):
        data = {"values": {judge: 1}}
        return StoredVerdict(judge=judge, **at, asks=asks, cached=0, cost_usd=None, data=data)

    for judge in ("kind", "kinder"):
        store.add_verdict(verdict(judge, 1))
        store.add_scores(judge, [StoredScore(**at, value=1.0, unscored=None)])
    store.begin_staging()
    store.add_verdict(verdict("kind", 2), anew=True)
    store.publish_staged(["kind"], judge="kind", facts={}, event=("judged", {}))
    store.settle()
    assert [one.asks for judge in ("kind", "kinder") for one in store.verdicts(judge)] == [2, 1]
    assert [len(list(store.scores(judge))) for judge in ("kind", "kinder")] == [0, 1]
    store.close()


async def test_a_switch_that_fails_leaves_everything_as_it_was(folder):
    """As on a full disk."""
    store = RunStore.create(folder, {})
    before = [StoredScore("c", "s", "p", 1, 0.5, None)]
    store.add_scores("f1", before)
    store.begin_staging()
    store.add_scores("f1", [StoredScore("c", "s", "p", 1, 0.75, None)], anew=True)
    store._writing.post(
        "CREATE TRIGGER full BEFORE INSERT ON score BEGIN SELECT RAISE(FAIL, 'full'); END", ()
    )
    store.settle()
    store.publish_staged(["f1"], facts={"scorers": ["f1"]}, event=("scored", {}))
    with pytest.raises(RunError, match="full"):
        store.settle()
    assert list(store.scores("f1")) == before
    assert store.fact("scorers") is None
    assert store.events("scored") == []
    with pytest.raises(RunError):
        store.close()
