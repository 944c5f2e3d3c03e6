"""A history with what its questions were asked with."""

from __future__ import annotations

from replay.core.conversation import Turn
from replay.core.history import Played, as_recorded, own_history
from replay.core.message import Message


def _played(number: int, question: str) -> Played:
    told = (Message(role="system", text=f"{number}"),)
    return Played(turn=Turn(id=f"{number}", question=question, asked_with=told), asked=question, answer="A.")


PLAYED = [_played(number, question) for number, question in enumerate(["Yes.", "And?", "Yes.", "Yes."])]
LAST = Turn(id="5", question="Why?", asked_with=(Message(role="system", text="5"),))


def test_a_history_that_begins_later_has_what_stood_at_its_own_questions() -> None:
    for many in range(len(PLAYED) + 1):
        history = own_history(PLAYED)[len(PLAYED) - many :]
        shown, asked_with = as_recorded(history, PLAYED, LAST)

        told = [[message.text for message in exchange.asked_with] for exchange in shown]
        lost = [f"{number}" for number in range(len(PLAYED) - many)]
        kept = [[f"{number}"] for number in range(len(PLAYED) - many, len(PLAYED))]
        if kept:
            assert told == [lost + kept[0], *kept[1:]]
            assert [message.text for message in asked_with] == ["5"]
        else:
            assert [message.text for message in asked_with] == [*lost, "5"]
