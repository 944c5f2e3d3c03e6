"""
The protocol of a user: somebody who words what a recorded question no longer does, and what they get for it.

A user is a plug-in (group ``replay.users``), chosen in the settings of the policy ``react`` by name, or as
``{name: {setting: value}}``. ``rules``, the default, asks no model; ``llm`` asks a chat system; ``person``
asks people, in the pages of a study. Users know what the recorded user wanted and knew. Neither a recorded
answer nor a gold passage is among what they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from replay.core.history import Exchange
from replay.core.record import Move, Occasion, RejectedWording
from replay.core.settings.plugins import NestedChoice, make_nested

WHY: Mapping[Occasion, str] = {
    "drifted": "after what the system really said, your next line would be taken for something else; "
    "say it so that it can't be.",
    "asked-back": "the system asks you something. Answer it.",
    "refused": "the system refuses, or says that it does not know. Put what you want another way.",
    "not-understood": "the system did not understand you. Put what you want another way.",
    "misread": "the system speaks of something that you did not mean. Correct it.",
    "failed": "no answer came. Say again what you want.",
}
"""What a user is told of each occasion, after "Why the script does not do:"."""
_MOVES: Mapping[Occasion, Move] = {"asked-back": "answer", "misread": "correction"}


class UserFact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the recorded user knew by themselves."""

    kind: str
    """``number``, ``email``, ``date``, ``name``; or as the data calls it (``metadata.user_facts``)."""
    value: str


class WordingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that has to be worded, and all that its user may know."""

    conversation: str
    depth: int
    """1-based."""
    occasion: Occasion
    evidence: str
    """What of the reply it was seen by; empty where a question drifted."""
    question: str
    """The intent, as recorded."""
    standalone: str | None
    """The same in words that need no history, as the data has it."""
    rewritten: str | None
    """The same as our rewriting puts it; None where that changes nothing."""
    meanings: tuple[tuple[str, str], ...] = ()
    """Expressions of the question, each with what it refers to in the recorded conversation."""
    misread: str | None = None
    """What the system took the question to be about."""
    facts: tuple[UserFact, ...] = ()
    history: tuple[Exchange, ...] = ()
    """What was really said, with this turn's exchanges, the reply included."""
    own_turns: tuple[str, ...] = ()
    """The recorded user's turns, for how they speak."""
    next_question: str | None = None
    """What the recorded user asked next."""
    rejected: tuple[RejectedWording, ...] = ()
    """What was worded for this before, and why it can't be said."""

    @property
    def reply(self) -> str:
        """The reply that is followed up, or the last one; empty where nothing was said."""
        return self.history[-1].answer if self.history else ""

    @property
    def intents(self) -> tuple[str, ...]:
        """All wordings of the intent that are known, the fullest first."""
        known = (self.standalone, self.rewritten, self.question)
        return tuple(dict.fromkeys(text for text in known if text))

    @property
    def usual_move(self) -> Move:
        """The move of somebody who says something on this occasion, and does not say what it is."""
        return _MOVES.get(self.occasion, "rephrasing")


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """What a user would say."""

    move: Move
    text: str = ""
    """Empty only where they say nothing (``skip``)."""
    source: str = ""
    """Where the words come from."""
    note: str | None = None
    """Why they say nothing."""
    asks: int = 0
    """Asks of a model; 0 where there is none, or the reply came from a cache."""
    cost_usd: float | None = None


@runtime_checkable
class User(Protocol):
    """One kind of user; one that holds something open is also an async context manager."""

    @property
    def signature(self) -> str:
        """Its name with every setting that can change its words."""
        ...

    async def word(self, request: WordingRequest) -> Wording:
        """
        Return what the user says, or that they say nothing; other words than those in ``request.rejected``.

        Raises:
            RunStoppedError: nobody could be asked, so that the run is not worth going on with.
        """
        ...


@runtime_checkable
class PeopleUser(User, Protocol):
    """A user whose turns people word."""

    @property
    def asked_in(self) -> str:
        """The study that they are asked in, for messages."""
        ...


def build_user(setting: NestedChoice, folder: Path) -> User:
    """
    Return the user that a policy's ``user`` setting names.

    Raises:
        ScenarioError: it can't be built; faults are located below ``user``.
    """
    return make_nested("users", setting, User, folder=folder)  # type: ignore[type-abstract]


def skip(note: str) -> Wording:
    """Return that nothing is said, for the reason *note*."""
    return Wording(move="skip", note=note)
