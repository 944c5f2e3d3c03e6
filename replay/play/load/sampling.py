"""
Which conversations a load run plays, and in which order: the data set again and again, without end.

A draw depends on the order, the seed and its number alone. So every worker process draws the same
sequence and plays its share of it, and a resumed run goes on where it stood.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from replay.core.conversation import Conversation

Order = Literal["order", "shuffle", "sample"]
"""``order``: as in the data, again and again. ``shuffle``: each round all of them, in a new random order.
``sample``: each draw any of them with the same probability, whatever was drawn before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One draw."""

    number: int
    """0 for the first."""
    conversation: Conversation
    """As in the data; ``played_again`` gives it an id of its own."""
    repetition: int
    """1 when the conversation is drawn for the first time, 2 for the second."""


def draw(conversations: Sequence[Conversation], order: Order, seed: int) -> Iterator[Drawn]:
    """
    Conversations without end.

    Raises:
        ValueError: there is nothing to draw from.
    """
    if not conversations:
        raise ValueError("there is no conversation to draw from")
    return _draws(conversations, _indices(len(conversations), order, seed))


def _draws(conversations: Sequence[Conversation], indices: Iterator[int]) -> Iterator[Drawn]:
    repetitions = [0] * len(conversations)
    for number, index in enumerate(indices):
        repetitions[index] += 1
        yield Drawn(number=number, conversation=conversations[index], repetition=repetitions[index])


def _indices(size: int, order: Order, seed: int) -> Iterator[int]:
    match order:
        case "order":
            for number in count():
                yield number % size
        case "shuffle":
            for round_number in count():
                # A generator of its own for each round, so that no round depends on those before it.
                yield from random.Random(f"{seed}|draw|{round_number}").sample(range(size), size)
        case "sample":
            rng = random.Random(f"{seed}|draw")
            while True:
                yield rng.randrange(size)


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
