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

    @property
    def gold_answer(self) -> str | None:
        """The recorded answer, the one that stands in the gold history; None when unknown."""
        return self.gold_answers[0] if self.gold_answers else None


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Turns in order (depth 1 is ``turns[0]``) and what surrounds them."""

    id: str
    turns: tuple[Turn, ...]
    title: str = ""
    section: str = ""
    background: str = ""
    passages: tuple[Passage, ...] = ()
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Whatever else the data set says of the conversation; JSON values."""
    expect: tuple[Expectation, ...] = ()
    """What is expected of the whole conversation, once it is over."""
    asked_from: int = 1
    """
    Depth of the first turn that is asked; those before it are shown as they were recorded. What a run
    sets where ``data.ask`` is ``last``; no file says it.
    """

    @property
    def asked_depths(self) -> range:
        """The depths of the turns that are asked."""
        return range(self.asked_from, len(self.turns) + 1)
