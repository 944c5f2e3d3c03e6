"""
Which conversations a load run plays, and in which order: the data set again and again, without end.

A draw depends on the order, the seed and its number alone. So every worker process draws the same
sequence and plays its share of it, and a resumed run goes on where it stood.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count, cycle
from typing import Literal

from replay.core.conversation import Conversation

Order = Literal["sequential", "shuffle", "sample"]
"""``sequential``: as in the data, again and again. ``shuffle``: each round all of them, in a random order.
``sample``: each draw any of them with the same probability, whatever was drawn before."""


def draw(conversations: Sequence[Conversation], order: Order, seed: int) -> Iterator[Conversation]:
    """
    Yield *conversations* endlessly.

    Args:
        conversations: At least one.
        order: ``sequential``: in their order again and again; ``shuffle``: each round in another order;
            ``sample``: drawn with replacement.
        seed: Of the random orders.
    """
    size = len(conversations)
    match order:
        case "sequential":
            yield from cycle(conversations)
        case "shuffle":
            for round_number in count():
                # A generator of its own for each round, so that no round depends on those before it.
                yield from random.Random(f"{seed}|draw|{round_number}").sample(conversations, size)
        case "sample":
            rng = random.Random(f"{seed}|draw")
            while True:
                yield conversations[rng.randrange(size)]
