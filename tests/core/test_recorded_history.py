"""A history with what its questions were asked with."""

from __future__ import annotations

from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn
from replay.core.history import PlayedTurn, gold_history, own_history, with_recorded_context
from replay.core.message import Message


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
