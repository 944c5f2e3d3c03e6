"""
Conversations as they were recorded or written: what is asked, and what a right answer is.

Plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from replay.core.expectation import Expectation
from replay.core.message import Message

CANNOT_ANSWER = "CANNOTANSWER"
"""QuAC's mark of a question that the passage doesn't answer (Choi et al., 2018, section 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that holds, or could hold, an answer."""

    id: str
    text: str
    title: str = ""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded question and what is known about its answer."""

    id: str
    question: str
    gold_answers: tuple[str, ...] = ()
    """Reference answers, the recorded one first; empty when unknown: such a turn is asked but unscored."""
    standalone: str | None = None
    """The question rewritten to need no context, if the data set has one."""
    gold_passages: tuple[str, ...] = ()
    """Ids of the passages that hold the answer."""
    fact: str | None = None
    """The knowledge a grounded answer should use (Topical-Chat)."""
    asked_with: tuple[Message, ...] = ()
    """
    What stood between the turn before and this question, in order: instructions (``system``,
    ``developer``), before the first question a greeting, and where the question came in several user messages
    also those; joined by line breaks they are the question. Without user messages it comes last.
    """
    steps: tuple[Message, ...] = ()
    """What was recorded between the question and the gold answer: calls of tools and their results."""
    expect: tuple[Expectation, ...] = ()
    """What is expected of the system's turn, beside the gold answers."""
    session: str = ""
    """
    The session that it belongs to; empty where the data know of none. A turn of another session than the turn
    before begins one, and a session's turns stand together.
    """
    evidence: tuple[str, ...] = ()
    """Ids of the earlier turns that hold the answer."""
    kind: str = ""
    """What kind of question it is, in the data's words; empty where they have none."""

    @property
    def gold_answer(self) -> str | None:
        """The recorded answer, the one that stands in the gold history; None when unknown."""
        return self.gold_answers[0] if self.gold_answers else None


class UserGoal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a user wants of a conversation whose questions nobody recorded (policy ``simulate``)."""

    wants: str
    """In words to the user: "You want your money back for order 40172."."""
    persona: str = ""
    """Who they are and how they write."""
    facts: Mapping[str, str] = {}
    """What they know, by what it is."""
    guidelines: tuple[str, ...] = ()
    """What else they do and don't do."""
    opener: str | None = None
    """What they begin with, word for word."""
    reached_when: str = ""
    """What has to have happened for the goal to be reached; empty where ``wants`` says it all."""
    turns: int | None = None
    """The most turns; None for the policy's."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Turns in order (depth 1 is ``turns[0]``) and what surrounds them."""

    id: str
    turns: tuple[Turn, ...]
    """Empty where there is a ``goal``; in a run it then has room for a user's turns (``with_open_turns``)."""
    title: str = ""
    section: str = ""
    background: str = ""
    passages: tuple[Passage, ...] = ()
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Whatever else the data set says of the conversation; JSON values."""
    expect: tuple[Expectation, ...] = ()
    """What is expected of the whole conversation, once it is over."""
    goal: UserGoal | None = None
    """In the place of turns."""
    user: str = ""
    """
    Who talks: one name for all sessions of a play, and another for each play. What a run sets for a system
    that keeps sessions itself; no file says it.
    """
    asked_from: int = 1
    """
    Depth of the first turn that is asked; those before it are shown as they were recorded. What a run
    sets where ``data.ask`` is ``last``; no file says it.
    """

    @property
    def asked_depths(self) -> range:
        """The depths of the turns that are asked."""
        return range(self.asked_from, len(self.turns) + 1)

    def distance_back(self, depth: int) -> tuple[int | None, int | None]:
        """
        Return how many sessions and how many turns lie between the turn at *depth* and its farthest evidence.

        Evidence in the same session is 0 sessions back, in the turn before 1 turn. None for turns where there
        is no evidence, and for sessions also where the data know of none.
        """
        turn = self.turns[depth - 1]
        places = turn.evidence and [
            n for n, one in enumerate(self.turns[: depth - 1]) if one.id in turn.evidence
        ]
        if not places:
            return None, None
        since = self.turns[places[0] : depth]
        sessions = len({one.session for one in since}) - 1 if turn.session else None
        return sessions, len(since) - 1

    def with_open_turns(self, most: int) -> Conversation:
        """
        Return the conversation with room for what a user says of its goal.

        Its turns are empty, but for an opener: so many as it may take at *most*, unless the goal says how
        many, and one more, at which the user is asked for the last time whether they have what they want.
        """
        assert self.goal is not None
        opener = self.goal.opener or ""
        turns = range(1, (self.goal.turns or most) + 2)
        made = [Turn(id=f"{self.id}#{n}", question=opener if n == 1 else "") for n in turns]
        return msgspec.structs.replace(self, turns=tuple(made))

    def up_to(self, depth: int) -> Conversation:
        """Return the conversation as it was over after the turn at *depth*."""
        return msgspec.structs.replace(self, turns=self.turns[:depth])
