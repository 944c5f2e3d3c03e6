"""
Which of many conversations are worth keeping: near-duplicates once, then in turns those with a complaint,
those that lean most on earlier answers, and some of each depth.

What makes a logged conversation worth keeping: its depth, that somebody was unhappy, what its questions lean
on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from replay.core.conversation import Conversation
from replay.coreference.leaning import find_leaning
from replay.coreference.reading.resolver import Resolver
from replay.datasets.near_duplicates import near_duplicates

DEPTH_BANDS = ((1, 1), (2, 3), (4, 6), (7, 12), (13, None))
_VERDICT = re.compile(
    r"feedback|thumb|vote|rating|score|csat|success|passed|resolved|correct|evaluation|label|helpful"
    r"|sentiment|reaction|reward"
)
_OPPOSITE = re.compile(r"fail|error|toxic|escalat|complaint|hallucinat")
_BAD = re.compile(
    r"thumbs?[ _-]?down|👎|-1|down|negative|bad|poor|dislike[ds]?|fail(?:ed|ure)?|incorrect|wrong|false|no"
    r"|unresolved"
    r"|unhelpful|dissatisfied|angry|not[ _-]helpful",
    re.IGNORECASE,
)
_OBJECTS = re.compile(
    r"\b(?:that'?s|this is|it'?s|you'?re|you are) (?:not (?:what|right|correct|true|it|relevant|too relevant"
    r"|helpful)|wrong|incorrect"
    r"|useless|no help)|\bnot what i (?:asked|meant|said|want)|\bno,? i (?:meant|said|asked|want)"
    r"|\bwrong (?:answer|one)\b"
    r"|\b(?:speak|talk) (?:to|with) (?:a |an )?(?:human|person|agent|manager)|\byou (?:didn'?t|did not"
    r"|haven'?t) (?:answer|understand)"
    r"|\bi already (?:told|said|gave|asked)|\bdoesn'?t (?:help|answer)|\bthat didn'?t (?:help|work)",
    re.IGNORECASE,
)


def depth_band(depth: int) -> str:
    """Return the band of conversations with *depth* turns, as ``2 to 3 turns``."""
    for low, high in DEPTH_BANDS:
        if high is None or depth <= high:
            if high is None:
                return f"{low} turns or more"
            return "1 turn" if low == high else f"{low} to {high} turns"
    raise AssertionError("the last band has no end")


def complaint(conversation: Conversation) -> str | None:
    """
    Return why somebody was unhappy: a verdict in the metadata, or what the user says; None if nobody was.
    """
    if verdict := bad_verdict(conversation):
        return verdict
    objected = bad_answers(conversation)
    return f"the user objects at turn {objected[0] + 1}" if objected else None


def bad_verdict(conversation: Conversation) -> str | None:
    """Return where the log says that *conversation* went badly, as ``rating in the log``; None if nowhere."""
    found = (name for name, value in _verdicts(conversation.metadata) if _is_bad(name, value))
    return next((f"{name} in the log" for name in found), None)


def bad_answers(conversation: Conversation) -> tuple[int, ...]:
    """Return the depths of the answers that the user objects to in the next question."""
    questions = enumerate(conversation.turns[1:], 1)
    return tuple(depth for depth, turn in questions if _OBJECTS.search(turn.question.replace("’", "'")))


def _verdicts(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is said of the conversation's quality, with its name."""
    if isinstance(value, Mapping):
        own = value.get("name") or value.get("key")
        for key, item in value.items():
            below = str(key).lower()
            if isinstance(own, str) and below in (
                "value",
                "score",
                "label",
                "string_value",
                "passed",
                "comment",
            ):
                below = own.lower() if _is_verdict(own.lower()) else f"score {own.lower()}"
            elif _is_verdict(name) and not _is_verdict(below):
                below = name
            yield from _verdicts(item, below)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _verdicts(item, name)
    elif value is not None and _is_verdict(name):
        yield name, value


def _is_verdict(name: str) -> bool:
    return bool(_VERDICT.search(name) or _OPPOSITE.search(name))


def _is_bad(name: str, value: Any) -> bool:
    if _OPPOSITE.search(name) and not re.search(r"no_?error", name):
        return value is True or (isinstance(value, int | float) and value > 0) or value in ("true", "yes")
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value <= 0 or (value in (1, 2) and re.search(r"rating|csat|stars", name) is not None)
    return isinstance(value, str) and _BAD.fullmatch(value.strip()) is not None


def leaning_depths(conversation: Conversation, resolver: Resolver) -> tuple[int, ...]:
    """
    Return the depths of the questions that lean on an earlier answer and would mean something else if it were
    wrong, as *resolver* reads the recorded history.
    """
    return tuple(one.depth for one in find_leaning(conversation, resolver) if one.at_risk)


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
