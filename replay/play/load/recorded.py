"""When conversations arrived as the data has it: by the timestamp of each one's first question."""

from __future__ import annotations

from collections.abc import Iterable

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.datasets.turn_metadata import ASKED
from replay.play.load.think import recorded_s
from replay.play.load.trace import Arrival


def recorded_arrivals(conversations: Iterable[Conversation]) -> list[Arrival]:
    """
    Return an arrival for each of *conversations*, in order of time, the first one at 0.

    Raises:
        InputError: the first question of one has no timestamp.
    """
    began = []
    for conversation in conversations:
        at_s = recorded_s(conversation, ASKED, 1)
        if at_s is None:
            raise InputError(
                f'conversation "{conversation.id}": there is no timestamp of turn 1, so when it came is '
                "unknown; give every first question a timestamp, or choose another profile than recorded"
            )
        began.append((at_s, conversation.id))
    first_s = min((at_s for at_s, _ in began), default=0.0)
    # Sorted by time alone: of several at once, the data's order.
    return [
        Arrival(line=0, at_s=at_s - first_s, conversation=id)
        for at_s, id in sorted(began, key=lambda one: one[0])
    ]
