"""
Which of many conversations are worth keeping: near-duplicates once, then in turns those with a complaint,
those that lean most on earlier answers, and some of each depth.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from replay.collecting.signals import DEPTH_BANDS, depth_band
from replay.core.conversation import Conversation
from replay.datasets.near_duplicates import near_duplicates

_WORD = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateConversation:
    """A conversation that could be taken, and what is known of it."""

    number: int
    """Of those that were read, from 0."""
    conversation: Conversation
    complaint: str | None = None
    leaning: tuple[int, ...] | None = None
    """Depths of the questions that lean on an earlier answer; None where it was not read."""

    @property
    def depth(self) -> int:
        return len(self.conversation.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenConversation:
    """A candidate and why it was taken."""

    candidate: CandidateConversation
    why: str


def split_duplicates(
    candidates: Sequence[CandidateConversation],
) -> tuple[list[CandidateConversation], list[tuple[CandidateConversation, CandidateConversation]]]:
    """
    Return the conversations that differ, in their order, and each near-duplicate with the one it repeats.

    Of several alike one with a complaint stays, else the first.
    """
    ordered = sorted(candidates, key=lambda one: (one.complaint is None, one.number))
    found = near_duplicates([_triples(one.conversation) for one in ordered], "collect")
    repeated = [(ordered[at], ordered[first]) for at, first in found.items()]
    kept = [one for at, one in enumerate(ordered) if at not in found]
    return sorted(kept, key=lambda one: one.number), sorted(repeated, key=lambda pair: pair[0].number)


def _triples(conversation: Conversation) -> frozenset[str]:
    """Return the triples of words that were said; all numbers are one, so that ids make no difference."""
    texts = [text for turn in conversation.turns for text in (turn.question, turn.gold_answer or "")]
    words = ["0" if word.isdigit() else word for text in texts for word in _WORD.findall(text.lower())]
    words = ["", *words, ""]
    return frozenset(" ".join(words[at : at + 3]) for at in range(len(words) - 2))


def read_leaning(
    candidates: Sequence[CandidateConversation],
    most: int,
    rng: random.Random,
    read: Callable[[Conversation], tuple[int, ...]],
) -> list[CandidateConversation]:
    """Return *candidates*, *most* of them (those with a complaint, then any) with the questions that lean."""
    deep = [one for one in candidates if one.depth > 1]
    order = sorted(deep, key=lambda one: (one.complaint is None, rng.random()))
    chosen = {one.number for one in order[:most]}
    return [
        replace(one, leaning=read(one.conversation)) if one.number in chosen else one for one in candidates
    ]


def take(
    candidates: Sequence[CandidateConversation], limit: int, rng: random.Random
) -> list[TakenConversation]:
    """
    Return at most *limit* of *candidates*, in the order of the logs, each with the reason it was taken for.
    """
    queues = [iter(queue) for queue in _queues(candidates, rng)]
    taken: dict[int, TakenConversation] = {}
    while queues and len(taken) < limit:
        for queue in list(queues):
            for one, why in queue:
                if one.number not in taken:
                    taken[one.number] = TakenConversation(candidate=one, why=why)
                    break
            else:
                queues.remove(queue)
            if len(taken) == limit:
                break
    return [taken[number] for number in sorted(taken)]


def _queues(
    candidates: Sequence[CandidateConversation], rng: random.Random
) -> Iterator[list[tuple[CandidateConversation, str]]]:
    shuffled = sorted(candidates, key=lambda _: rng.random())
    yield [(one, one.complaint) for one in shuffled if one.complaint is not None]
    leaning = sorted((one for one in shuffled if one.leaning), key=lambda one: -len(one.leaning or ()))
    yield [(one, _leaning_text(one)) for one in leaning]
    bands = {depth_band(low): list[tuple[CandidateConversation, str]]() for low, _ in DEPTH_BANDS}
    for one in shuffled:
        bands[depth_band(one.depth)].append((one, f"its depth: {depth_band(one.depth)}"))
    # The deepest first, one of each in turn.
    rounds = zip_longest(*reversed(bands.values()))
    yield [pair for each in rounds for pair in each if pair is not None]


def _leaning_text(one: CandidateConversation) -> str:
    count = len(one.leaning or ())
    return f"{count} of {one.depth} questions {'leans' if count == 1 else 'lean'} on an earlier answer"
