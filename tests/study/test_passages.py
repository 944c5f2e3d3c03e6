"""The passages of a study's data: kept once each, and found by their words."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from replay.core.conversation import Conversation, Passage, Turn
from replay.study.running.start import with_unique_ids
from replay.study.schema import PAGE, TABLES, PassageIndex, keep_passages
from tests.data_tables import from_table


@pytest.fixture
def index_of(tmp_path):
    def make(*conversations):
        with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection:
            connection.executescript(TABLES)
            keep_passages(connection, with_unique_ids(conversations))
        return PassageIndex(tmp_path / "study.db")

    return make


def about(id, *texts, title=""):
    passages = tuple(Passage(id=f"p{n}", text=text, title=title) for n, text in enumerate(texts, start=1))
    return Conversation(id=id, turns=(), passages=passages)


def texts(found):
    return [passage.text for passage in found.passages]


def test_a_passage_of_several_conversations_is_kept_once(index_of):
    index = index_of(about("a", "Rex barks.", "Rex sleeps."), about("b", "Rex barks."))

    assert [one.text for one in index.passages()] == ["Rex barks.", "Rex sleeps."]
    assert [one.text for one in index.passages("b")] == ["Rex barks."]
    assert texts(index.search("barks", of="b")) == ["Rex barks."]
    assert not index.search("sleeps", of="b").total


def test_passages_that_share_an_id_are_told_apart(index_of):
    index = index_of(about("a", "Rex barks."), about("b", "Tom meows."))

    assert {one.id: one.text for one in index.passages()} == {"p1": "Rex barks.", "b/p1": "Tom meows."}
    assert index.has("b/p1")
    assert not index.has("b/p1", of="a")
    assert not index.has("b")


def test_a_turns_gold_passage_is_called_as_the_passage_is():
    turn = Turn(id="q", question="Who?", gold_passages=("p1", "elsewhere"))
    first, second = with_unique_ids(
        [about("a", "Rex barks."), replace(about("b", "Tom meows."), turns=(turn,))]
    )

    assert first.passages[0].id == "p1"
    assert [one.id for one in second.passages] == ["b/p1"]
    assert second.turns[0].gold_passages == ("b/p1", "elsewhere")


def test_no_name_is_given_twice():
    named = [Conversation(id="x", turns=(), passages=(Passage(id="b/p1", text="Ann sings."),))]
    found = with_unique_ids([*named, about("a", "Rex barks."), about("b", "Tom meows.")])

    assert [one.passages[0].id for one in found] == ["b/p1", "p1", "b/p1+"]


@from_table
def test_words_find_passages(index_of, words, found):
    passages = ("The keeper's lighthouse, a tower, stood the storm.", "A Café by the sea.", "这座灯塔很高。")
    index = index_of(about("a", *passages, title="Title"))

    assert sorted(texts(index.search(words))) == sorted(passages[n - 1] for n in found)


def test_those_that_have_some_of_the_words_are_told_as_such(index_of):
    index = index_of(about("a", "Rex barks.", "Tom meows."))

    assert not index.search("rex barks").any_word
    assert index.search("rex meows").any_word


def test_the_best_comes_first(index_of):
    index = index_of(about("a", "Rex and a cat and a bird and a fish.", "Rex, Rex, Rex."))

    assert texts(index.search("rex"))[0] == "Rex, Rex, Rex."


def test_all_of_many_are_reached_page_by_page(index_of):
    index = index_of(about("a", *(f"Rex has {n} bones." for n in range(2 * PAGE + 5))))

    for words in ("", "rex"):
        pages = [index.search(words, page=page) for page in (1, 2, 3)]
        assert [len(one.passages) for one in pages] == [PAGE, PAGE, 5]
        assert len({one.id for found in pages for one in found.passages}) == 2 * PAGE + 5
        assert {(one.total, one.pages) for one in pages} == {(2 * PAGE + 5, 3)}
        assert index.search(words, page=99).page == 3
        assert index.search(words, page=0).page == 1


def test_texts_that_no_database_takes_are_kept_all_the_same(index_of):
    index = index_of(about("a", "half a \ud83d sign"))

    assert texts(index.search("sign")) == ["half a ? sign"]
