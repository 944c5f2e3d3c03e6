"""
Which conversations a load run plays, and in which order: the data set again and again, without end.

A draw depends on the order, the seed and its number alone. So every worker process draws the same
sequence and plays its share of it, and a resumed run goes on where it stood.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, cycle
from typing import Literal

from replay.core.conversation import Conversation

Order = Literal["order", "shuffle", "sample"]
"""``order``: as in the data, again and again. ``shuffle``: each round all of them, in a new random order.
``sample``: each draw any of them with the same probability, whatever was drawn before."""


def draw(conversations: Sequence[Conversation], order: Order, seed: int) -> Iterator[Conversation]:
    """*conversations*, at least one, without end; ``played_again`` gives each play an id of its own."""
    size = len(conversations)
    match order:
        case "order":
            yield from cycle(conversations)
        case "shuffle":
            for round_number in count():
                # A generator of its own for each round, so that no round depends on those before it.
                yield from random.Random(f"{seed}|draw|{round_number}").sample(conversations, size)
        case "sample":
            rng = random.Random(f"{seed}|draw")
            while True:
                yield conversations[rng.randrange(size)]


_LIKE_A_REPETITION = re.compile(r"(~+)[0-9]+\Z")


def repetition_mark(ids: Iterable[str]) -> str:
    """
    What stands between a conversation's id and its repetition: ``~``, or so many more that no
    repetition can have an id of the data, *ids*.
    """
    taken = (len(found[1]) for name in ids if (found := _LIKE_A_REPETITION.search(name)))
    return "~" * (max(taken, default=0) + 1)


def played_again(conversation: Conversation, repetition: int, mark: str = "~") -> Conversation:
    """
    *conversation* under the id of its *repetition*, as in ``album~2``; the first keeps its id.

    *mark* comes from ``repetition_mark``. All but the id is shared with *conversation*.
    """
    if repetition == 1:
        return conversation
    return replace(conversation, id=f"{conversation.id}{mark}{repetition}")
