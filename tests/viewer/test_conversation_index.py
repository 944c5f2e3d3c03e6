"""The list of conversations."""

from __future__ import annotations

import pytest

from replay.results.run import Run
from replay.store.page_queries import RecordKey, RunBrowser
from replay.viewer.conversation_index import ConversationIndex, ListQuery
from replay.viewer.run_numbers import BrokenRule
from tests.viewer.runs import add, create, drifted, finish, make_run, record, talk


@pytest.fixture
def folder(tmp_path):
    conversations = [talk("a", title="Harbours"), talk("b"), talk("c")]
    records = [
        *(
            record(c, d, policy=p, answer=f"Answer {c}{d} Łódź")
            for p in ("gold", "pred")
            for c in "ab"
            for d in (1, 2)
        ),
        record("c", 1, answer=None),
        record("c", 2, policy="pred", asked="Rewritten?", edit="rewritten", drift=drifted()),
    ]
    scores = {
        "f1": {
            ("gold", "a", 1): 1.0,
            ("gold", "a", 2): 0.5,
            ("pred", "a", 1): 0.0,
            ("gold", "b", 1): 0.1,
            ("gold", "c", 1): "timed-out",
        }
    }
    return make_run(tmp_path / "run", conversations, records, scores)


@pytest.fixture
def index(folder):
    browser = RunBrowser(folder)
    made = ConversationIndex(browser, Run(folder).scorers())
    made.refresh(Run(folder).scorers())
    yield made
    browser.close()


def ids(index, **question):
    return [row.id for row in index.page(ListQuery(**question)).rows]


def test_without_an_order_the_list_is_as_the_data_has_it(index):
    assert ids(index) == ["a", "b", "c"]


def test_worst_first_by_a_score_and_what_has_none_last(index):
    assert ids(index, order="f1") == ["b", "a", "c"]
    row = index.page(ListQuery(order="f1")).rows[1]
    assert row.score == pytest.approx(0.5)
    assert ids(index, order="f1", policy="pred")[0] == "a"


def test_turns_are_those_of_the_conversation_and_asks_those_of_all_policies(index):
    counts = {row.id: (row.turns, row.asks) for row in index.page(ListQuery()).rows}
    assert counts == {"a": (2, 4), "b": (2, 4), "c": (1, 2)}


def test_a_score_is_shown_whatever_the_order(index):
    page = index.page(ListQuery(order="drift"))
    assert page.score == "f1"
    assert {row.id: row.score for row in page.rows} == {"a": 0.5, "b": 0.1, "c": None}


def test_a_check_leaves_the_conversations_with_its_turns(index):
    turns = [
        RecordKey("b", "made", "gold", 2),
        RecordKey("b", "made", "pred", 2),
        RecordKey("b", "made", "gold", 1),
    ]
    broken = BrokenRule(id="x", kind="score", rule="x is 0", where="", turns=turns)
    page = index.page(ListQuery(only="x"), broken=broken)
    assert [(row.id, row.breaking) for row in page.rows] == [("b", (1, 2))]
    assert (page.found, page.of) == (1, 3)


@pytest.mark.parametrize("order", ["drift", "failures", "edits"])
def test_worst_first_by_what_went_wrong(index, order):
    assert ids(index, order=order)[0] == "c"


@pytest.mark.parametrize(
    ("only", "found"), [("invalid", ["c"]), ("edited", ["c"]), ("failed", ["c"]), ("x", ["a", "b", "c"])]
)
def test_only_those_with_such_a_turn(index, only, found):
    assert ids(index, only=only) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("HARBOURS", ["a"]), ("b2", ["b"]), ("łódź answer", ["a", "b"]), ("rewritten?", ["c"]), ("nowhere", [])],
)
def test_a_search_finds_all_words_anywhere_in_any_letter_case(index, text, found):
    assert ids(index, text=text) == found


def test_pages_of_the_list_follow_each_other(index):
    pages = [index.page(ListQuery(), first=n, count=1) for n in range(3)]
    assert [page.rows[0].id for page in pages] == ["a", "b", "c"]
    assert pages[0].found == 3


async def test_the_list_grows_while_the_run_goes_on_and_shrinks_when_turns_are_dropped(tmp_path):
    store = create(tmp_path / "run")
    browser = RunBrowser(tmp_path / "run")
    try:
        index = ConversationIndex(browser, {})
        await add(store, [talk("a")], [record("a", 1), record("a", 2)])
        index.refresh({})
        assert [row.turns for row in index.page(ListQuery()).rows] == [2]
        await add(store, [talk("b")], [record("b", 1, answer="fresh words"), record("a", 1, policy="pred")])
        index.refresh({})
        found = [(row.id, row.turns, row.asks) for row in index.page(ListQuery()).rows]
        assert found == [("a", 2, 3), ("b", 1, 1)]
        assert ids(index, text="fresh") == ["b"]
        store.forget("b", "made", "gold")
        store.add_event("resumed", {})
        await store.flush()
        index.refresh({})
        assert ids(index) == ["a"]
        finish(store, {"f1": {("gold", "a", 1): 0.5}})
        await store.flush()
        scorers = Run(tmp_path / "run").scorers()
        index.refresh(scorers)
        assert index.page(ListQuery(order="f1")).rows[0].score == 0.5
    finally:
        browser.close()
        store.close()
