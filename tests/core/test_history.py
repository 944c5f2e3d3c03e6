"""
Cutting a history: laws that hold for any, and the words for what was cut.

A history with what its questions were asked with.
"""

from __future__ import annotations

import copy
import pickle

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from replay import Timing
from replay.core.conversation import Conversation, Turn
from replay.core.history import (
    Exchange,
    HistoryView,
    PlayedTurn,
    gold_history,
    own_history,
    reapply_view,
    with_recorded_context,
)
from replay.core.message import Message
from tests.data_tables import from_table

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


@from_table
def test_what_was_cut_is_named(view, said):
    history = tuple(Exchange(question=f"q{n}", answer=f"a{n}") for n in range(5))
    assert HistoryView(**view).apply(history)[1] == said


def test_a_cut_in_other_words_is_not_ours_to_read():
    history = (Exchange(question="q", answer="a"),)
    for said in (None, "whatever bores", "exchanges 2 to 3", "exchange 1 and 2"):
        assert reapply_view(history, said) == history


def _played(number: int, question: str, answer: str | None = "A.") -> PlayedTurn:
    told = (Message(role="system", text=f"{number}"),)
    turn = Turn(id=f"{number}", question=question, gold_answers=("Gold.",), asked_with=told)
    return PlayedTurn(turn=turn, asked=question, answer=answer)


PLAYED = [_played(number, question) for number, question in enumerate(["Yes.", "And?", "Yes.", "Yes."])]
LAST = Turn(id="5", question="Why?", asked_with=(Message(role="system", text="5"),))


def test_a_history_that_begins_later_has_what_stood_at_its_own_questions() -> None:
    for many in range(len(PLAYED) + 1):
        history = own_history(PLAYED)[len(PLAYED) - many :]
        shown, asked_with = with_recorded_context(history, PLAYED, LAST)

        told = [[message.text for message in exchange.asked_with] for exchange in shown]
        lost = [f"{number}" for number in range(len(PLAYED) - many)]
        kept = [[f"{number}"] for number in range(len(PLAYED) - many, len(PLAYED))]
        if kept:
            assert told == [lost + kept[0], *kept[1:]]
            assert [message.text for message in asked_with] == ["5"]
        else:
            assert [message.text for message in asked_with] == [*lost, "5"]


def test_a_skipped_turn_gives_what_stood_at_it_to_what_comes_next_also_where_another_asked_the_same() -> None:
    played = [_played(0, "Yes."), _played(1, "Yes.", None), _played(2, "And?")]
    shown, _ = with_recorded_context(own_history(played), played, LAST)
    assert [[message.text for message in exchange.asked_with] for exchange in shown] == [["0"], ["1", "2"]]


def test_a_session_of_which_nothing_is_shown_leaves_no_instructions_behind() -> None:
    played = [
        PlayedTurn(turn=replace(one.turn, session=session), asked=one.asked, answer=one.answer)
        for one, session in zip(PLAYED, ["a", "a", "b", "b"], strict=True)
    ]
    last = replace(LAST, session="b")
    for many, told in ((0, []), (1, [["2", "3"]]), (2, [["2"], ["3"]]), (3, [["0", "1"], ["2"], ["3"]])):
        shown, asked_with = with_recorded_context(own_history(played)[4 - many :], played, last)

        assert [[message.text for message in exchange.asked_with] for exchange in shown] == told
        assert [message.text for message in asked_with] == ([] if shown else ["2", "3"]) + ["5"]
    _, asked_with = with_recorded_context((), played, replace(LAST, session="c"))
    assert [message.text for message in asked_with] == ["5"]


def test_a_recorded_answer_that_is_an_empty_text_was_none_and_is_not_sent() -> None:
    turns = (Turn(id="1", question="Bye.", gold_answers=("",)), Turn(id="2", question="Who?"), LAST)
    (shown,) = gold_history(Conversation(id="c", turns=turns), 3)

    assert [(message.role, message.text) for message in shown.messages] == [("user", "Bye.")]


PLAYED_TURN = PlayedTurn(turn=Turn(id="1", question="Where?"), asked="Where?", answer="Bern.")


def test_what_a_turn_makes_is_frozen_and_can_be_copied_pickled_and_written():
    timing = Timing(scheduled_s=0.0, sent_s=1.0, done_s=2.0)
    with pytest.raises(AttributeError):
        timing.done_s = 3.0
    assert msgspec.structs.replace(timing, done_s=3.0).latency_s == 2.0
    assert copy.deepcopy(timing) == pickle.loads(pickle.dumps(timing)) == timing
    assert msgspec.json.decode(msgspec.json.encode(timing), type=Timing) == timing
    assert {timing, copy.copy(timing)} == {timing}


def test_an_exchange_is_one_object_for_all_later_turns():
    """An adapter tells by it what it has put into words before."""
    assert own_history([PLAYED_TURN])[0] is own_history([PLAYED_TURN])[0]
    assert pickle.loads(pickle.dumps(PLAYED_TURN)) == PLAYED_TURN


def test_a_question_that_left_no_trace_has_no_exchange():
    assert not msgspec.structs.replace(PLAYED_TURN, answer=None).exchanges
