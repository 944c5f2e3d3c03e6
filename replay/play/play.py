"""
What is played: a conversation, with a system, under a policy, maybe several times; and when its turns are
due.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from replay.core.adapter import Adapter
from replay.core.asking.costs import Prices
from replay.core.asking.limits import RateLimit
from replay.core.conversation import Conversation
from replay.core.record import TurnRecord, UnfinishedTurn
from replay.play.answer_cache import AnswerCache
from replay.play.tool_results import Tools
from replay.policies.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system under test."""

    name: str
    adapter: Adapter
    limit: RateLimit | None = None
    keep_raw: bool = False
    """Its replies are kept as they came."""
    prices: Prices | None = None
    """For replies that don't say themselves what they cost."""
    tools: Tools | None = None
    """What its calls of tools come to; None where a reply that calls one is a failure."""
    answers: AnswerCache | None = None
    """Where its answers are kept from run to run."""
    one_session: bool = False
    """Where it keeps sessions itself, the sessions of the data are one to it."""

    @property
    def takes_seed(self) -> bool:
        """Return whether a request's ``seed`` reaches what is asked."""
        return bool(getattr(self.adapter, "takes_seed", False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One conversation to be played with one system under one policy."""

    system: System
    policy_name: str
    policy: Policy
    conversation: Conversation
    records: tuple[TurnRecord, ...] = ()
    """Turns that are durable from an earlier session of the run, in order."""
    source: str | None = None
    """The conversation's id in the data where it is played once more under another id."""
    repeat: int = 1
    """Which play of the conversation it is, where it is played several times."""
    seed: int | None = None
    """What its asks send as ``seed``; None for nothing."""
    begun: UnfinishedTurn | None = None
    """What an earlier session of the run knows of the first turn without a record."""
    anew: bool = False
    """Its questions are asked even where answers were kept."""

    @property
    def asked_about(self) -> Conversation:
        """
        The conversation as a session knows it: a repeat by its id in the data, which templates send, and
        without a goal, which is the user's alone.
        """
        name = self.conversation.id if self.repeat == 1 or self.source is None else self.source
        if name == self.conversation.id and self.conversation.goal is None:
            return self.conversation
        return replace(self.conversation, id=name, goal=None)

    @property
    def first_depth(self) -> int:
        """Depth of the first turn without a record."""
        return self.conversation.asked_from + len(self.records)


_LIKE_A_REPETITION = re.compile(r"(~+)[0-9]+\Z")


def repetition_mark(ids: Iterable[str]) -> str:
    """
    Return the separator between a conversation's id and the number of its repetition.

    It is ``~``, repeated until no id of the data, *ids*, can be taken for a repetition's.
    """
    taken = (len(found[1]) for name in ids if (found := _LIKE_A_REPETITION.search(name)))
    return "~" * (max(taken, default=0) + 1)


def repetition_id(id: str, repetition: int, mark: str = "~") -> str:
    """
    Return the id of a *repetition* (from 1) of the conversation *id*, as ``album~2``; the first keeps *id*.

    *mark* is the separator that ``repetition_mark`` returns.
    """
    return id if repetition == 1 else f"{id}{mark}{repetition}"


def repeat_conversation(conversation: Conversation, repetition: int, mark: str = "~") -> Conversation:
    """Return *conversation* under its ``repetition_id``. All else is shared with *conversation*."""
    if repetition == 1:
        return conversation
    return replace(conversation, id=repetition_id(conversation.id, repetition, mark))


class Pacer(Protocol):
    """The pace of one conversation."""

    async def next_due(self, depth: int, due: float | None, done: float | None) -> float | None:
        """
        Wait until the turn at *depth* is due, and return the moment it was due; None ends the conversation.

        *due* and *done* are the moments when the turn before was due and over, on the player's clock;
        None before the first.
        """
        ...
