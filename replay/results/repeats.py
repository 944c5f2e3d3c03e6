"""
The plays of each conversation within one run (``play.repeats``): their ids, their order, their seeds.

The first play keeps the conversation's id, the others are called as in ``album~2`` and name their
``source``, so that everything that knows plays of a load run by their source knows these.

Round after round, not one conversation's repeats in a row: a run that is stopped is then one with fewer
repeats of every conversation and not one of the first few conversations; repeats lie far apart in time, so
that what changes at an endpoint from minute to minute shows in their spread; and no two of them are asked at
the same moment, where a server may batch them or answer both alike. What it costs: an endpoint may have
forgotten the prompt's beginning meanwhile, and of data with more than some 4,000 turns gold sides are
resolved once in each round.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from replay.core.decoding import convert_to
from replay.play.play import Play, repeat_conversation, repetition_id, repetition_mark
from replay.scenario.sections import Scenario
from replay.store.page_queries import RunBrowser
from replay.store.reader import RunReader

REPEATS = "repeats"
"""The fact of a run that plays its conversations several times, or sends seeds."""


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """How often a run plays each conversation."""

    times: int = 1
    mark: str = "~"
    """Stands between a conversation's id and the repeat's number. Of the data as it was when the run began:
    what a resume takes up later must not change what plays are called."""
    seeds: tuple[int, ...] = ()
    """What the asks of each repeat send as ``seed``; empty where they send none."""

    def ids(self, id: str) -> Iterator[str]:
        """Return the ids of all plays of the conversation *id*, the first play's first."""
        return (repetition_id(id, repeat, self.mark) for repeat in range(1, self.times + 1))

    def lengths(self, conversations: dict[str, int]) -> dict[str, int]:
        """Return the number of turns of each play by its id, from those of the data's *conversations*."""
        return {play: turns for id, turns in conversations.items() for play in self.ids(id)}

    def of(self, play: Play, repeat: int) -> Play:
        """Return *play*, of a conversation of the data, as its repetition number *repeat* (from 1)."""
        seed = self.seeds[repeat - 1] if self.seeds and play.system.takes_seed else None
        id = play.conversation.id
        return replace(
            play,
            conversation=repeat_conversation(play.conversation, repeat, self.mark),
            source=id if repeat > 1 else None,
            repeat=repeat,
            seed=seed,
        )


def planned_repeats(scenario: Scenario, ids: Iterable[str]) -> Repeats:
    """
    Return the repeats that *scenario* asks for.

    Args:
        ids: The ids of the run's conversations, which the ids of the further plays must not equal.

    Returns:
        The number of plays, and a seed for each where the scenario wants one. The seeds depend on the
            scenario's ``seed`` alone.
    """
    play = scenario.play
    seeds = tuple(
        # Positive in 32 bits: several servers take no more.
        random.Random(f"{scenario.seed}|repeat|{repeat}").randrange(1, 2**31)
        for repeat in range(1, play.repeats + 1)
    )
    mark = repetition_mark(ids)
    return Repeats(times=play.repeats, mark=mark, seeds=seeds if play.seed_per_repeat else ())


def repeats_of(store: RunReader | RunBrowser) -> Repeats:
    """Return how often the run in *store* plays each conversation; once before it has read its data."""
    fact = store.fact(REPEATS)
    return Repeats() if fact is None else convert_to(fact, Repeats)
