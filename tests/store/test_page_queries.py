"""A run read piece by piece gives what reading it whole gives."""

from __future__ import annotations

import pytest

from replay.core.errors import RunError
from replay.store.page_queries import RunBrowser
from replay.store.store import RunStore
from tests.viewer.runs import add, create, drifted, finish, make_run, record, talk


@pytest.fixture
def folder(tmp_path):
    records = [
        record("a", 1, recorded="Was it \udc80?", cost_usd=0.5),
        record("a", 2, answer=None),
        record("a", 2, policy="pred", drift=drifted()),
        record("a-again", 1, source="a"),
    ]
    scores = {"f1": {("gold", "a", 1): 0.5, ("gold", "a", 2): "timed-out", ("pred", "a", 2): 0.25}}
    return make_run(tmp_path / "run", [talk("a", title="Harbours")], records, scores)


@pytest.fixture
def browser(folder):
    made = RunBrowser(folder)
    yield made
    made.close()


def test_the_turns_of_a_conversation_are_its_records(browser, folder):
    store = RunStore(folder)
    whole = [one for one in store.records() if one.conversation == "a"]
    store.close()
    assert browser.records("a") == whole


def test_a_play_under_another_id_has_the_recorded_conversation(browser):
    assert browser.conversation("a-again").id == "a"
    assert browser.conversation("nobody") is None
    assert [one.source for one in browser.play_summaries(after=0, until=99)] == [None, None, "a"]


def test_groups_titles_and_sources_are_listed(browser):
    assert sorted(browser.groups()) == [("made", "gold"), ("made", "pred")]
    assert browser.titles() == [("a", 0, "Harbours", "")]
    assert browser.sources() == {"a-again": "a"}


def test_what_happened_is_counted_by_conversation_and_policy(browser):
    counted = {(one.conversation, one.policy): one[4:] for one in browser.play_summaries(after=0, until=99)}
    assert counted == {
        ("a", "gold"): (2, 0, 0, 1),
        ("a", "pred"): (1, 1, 0, 0),
        ("a-again", "gold"): (1, 0, 0, 0),
    }
    assert browser.drift_verdicts("pred") == [("made", "a", 2, 0)]
    outcomes = {(one.policy, one.outcome): (one.turns, one.cost_usd) for one in browser.outcomes()}
    assert outcomes["gold", "answered"] == (2, 0.5)
    assert outcomes["gold", "timed-out"] == (1, None)


def test_scores_come_with_their_reasons_and_sums(browser):
    found = {
        (one.policy, one.depth): (one.value, one.unscored)
        for one in browser.scores("a", ["f1"], [("made", "gold"), ("made", "pred")])
    }
    assert found == {("gold", 1): (0.5, None), ("gold", 2): (None, "timed-out"), ("pred", 2): (0.25, None)}
    assert sorted(browser.sums("f1")) == [("a", "made", "gold", 0.5, 1), ("a", "made", "pred", 0.25, 1)]


def test_texts_come_in_the_order_of_writing_from_any_row_on(browser):
    rows = list(browser.turn_texts(after=0, until=99))
    assert len(rows) == 4
    assert rows[0].recorded == "Was it \udc80?"
    assert list(browser.turn_texts(after=2, until=3)) == rows[2:3]


async def test_another_ones_writing_changes_the_version(tmp_path):
    store = create(tmp_path / "run")
    browser = RunBrowser(tmp_path / "run")
    try:
        before = browser.version()
        assert browser.version() == before
        await add(store, [talk("a")], [record("a", 1)])
        assert browser.version() != before
        assert (browser.progress().turns, browser.progress().finished) == (1, False)
        finish(store, {})
        await store.flush()
        assert browser.progress().finished
    finally:
        browser.close()
        store.close()


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(RunError, match="there is no run"):
        RunBrowser(tmp_path)
