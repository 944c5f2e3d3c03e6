from __future__ import annotations

import pytest

from replay.core.conversation import Conversation, Turn
from replay.core.errors import InputError
from replay.play.load.arrivals import recorded_arrivals


def talk(name: str, *timestamps: object) -> Conversation:
    turns = tuple(Turn(id=f"{name}#{n}", question="Where?") for n in range(1, max(1, len(timestamps)) + 1))
    metadata = {"timestamps": list(timestamps)} if timestamps else {}
    return Conversation(id=name, turns=turns, metadata=metadata)


def test_conversations_come_in_the_order_of_their_first_questions():
    """Seconds and dates alike, from the first on; of several at once in the data's order."""
    found = recorded_arrivals(
        [
            talk("late", "2026-01-02T00:01:30Z", "2026-01-02T00:05:00Z"),
            talk("early", "2026-01-02T00:00:00Z"),
            talk("with", "2026-01-02T01:01:30+01:00"),
        ]
    )

    assert [(one.conversation, one.at_s) for one in found] == [("early", 0), ("late", 90), ("with", 90)]
    assert [one.at_s for one in recorded_arrivals([talk("b", 7.5, None), talk("a", 7)])] == [0, 0.5]
    assert recorded_arrivals([]) == []


@pytest.mark.parametrize(
    ("conversation", "message"),
    [
        (talk("c7"), 'conversation "c7": there is no timestamp of turn 1.*give every first question'),
        (talk("c7", None, 3), 'conversation "c7": there is no timestamp of turn 1'),
        (talk("c7", "noon"), r'conversation "c7": metadata.timestamps\[0\]: "noon" is not a time'),
    ],
)
def test_a_conversation_without_a_time_is_named(conversation, message):
    with pytest.raises(InputError, match=message):
        recorded_arrivals([talk("c1", 1), conversation])
