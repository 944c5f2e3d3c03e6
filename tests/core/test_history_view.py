"""Cutting a history: laws that hold for any, and the words for what was cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.core.history import Exchange, HistoryView, reapply_view
from replay.core.message import Message

EXCHANGES = st.builds(
    Exchange,
    question=st.text(max_size=5),
    answer=st.text(max_size=5),
    steps=st.sampled_from([(), (Message(role="tool", text="found"),)]),
    session=st.sampled_from(["", "s1", "s2"]),
)
HISTORIES = st.lists(EXCHANGES, max_size=6).map(tuple)
VIEWS = st.builds(
    HistoryView, last=st.none() | st.integers(0, 7), session=st.booleans(), user_only=st.booleans()
)


@given(HISTORIES, st.integers(0, 7))
def test_the_last_n_are_n_at_most_and_the_newest(history, n):
    shown, cut = HistoryView(last=n).apply(history)

    assert len(shown) == min(n, len(history))
    assert history[len(history) - len(shown) :] == shown
    assert (cut is None) == (shown == history)


@given(HISTORIES, st.none() | st.integers(0, 7))
def test_of_the_user_alone_no_answer_and_no_step_is_shown(history, n):
    shown, _ = HistoryView(last=n, user_only=True).apply(history)

    assert [one.question for one in shown] == [one.question for one in history[len(history) - len(shown) :]]
    assert all((one.answer, one.steps, one.question_only) == ("", (), True) for one in shown)


@given(HISTORIES, VIEWS, st.sampled_from(["", "s1", "s2"]))
def test_what_was_cut_tells_what_was_shown(history, view, session):
    shown, cut = view.apply(history, session)
    assert reapply_view(history, cut) == shown


@given(HISTORIES, st.sampled_from(["", "s1", "s2"]))
def test_of_the_present_session_all_is_shown_and_nothing_from_before(history, session):
    shown, _ = HistoryView(session=True).apply(history, session)

    assert all(one.session == session for one in shown)
    before = history[: len(history) - len(shown)]
    assert not before or before[-1].session != session


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (HistoryView(last=5), None),
        (HistoryView(last=4), "exchange 1"),
        (HistoryView(last=2), "exchanges 1 to 3"),
        (HistoryView(last=0), "exchanges 1 to 5"),
        (HistoryView(user_only=True), "answers"),
        (HistoryView(last=2, user_only=True), "exchanges 1 to 3, answers"),
        (HistoryView(last=0, user_only=True), "exchanges 1 to 5"),
    ],
)
def test_what_was_cut_is_named(view, said):
    history = tuple(Exchange(question=f"q{n}", answer=f"a{n}") for n in range(5))
    assert view.apply(history)[1] == said


def test_a_cut_in_other_words_is_not_ours_to_read():
    history = (Exchange(question="q", answer="a"),)
    for said in (None, "whatever bores", "exchanges 2 to 3", "exchange 1 and 2"):
        assert reapply_view(history, said) == history
