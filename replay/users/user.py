"""
The protocol of a user: somebody who words what a recorded question no longer does, or what nobody recorded,
and what they get for it.

A user is a plug-in (group ``replay.users``), chosen in the settings of the policies ``react`` and
``simulate`` by name, or as ``{name: {setting: value}}``. ``rules``, the default of ``react``, asks no model;
``llm`` asks a chat system; ``person`` asks people, in the pages of a study. Users know what the recorded user
wanted and knew, or what a goal says. Neither a recorded answer nor a gold passage is among what they are
given.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol, get_args, runtime_checkable

import msgspec
from msgspec.structs import replace

from replay.core.asking.costs import NO_PRICES, PriceTable
from replay.core.conversation import Conversation, UserGoal
from replay.core.history import Exchange
from replay.core.record import Ending, Intervention, Move, Occasion, RejectedWording
from replay.core.settings.plugins import NestedChoice, make_nested

ATTEMPTS = 3
"""Wordings of one turn at most."""
ENDINGS = get_args(Ending)

WHY: Mapping[Occasion, str] = {
    "drifted": "after what the system really said, your next line would be taken for something else; "
    "say it so that it can't be.",
    "asked-back": "the system asks you something. Answer it.",
    "refused": "the system refuses, or says that it does not know. Put what you want another way.",
    "not-understood": "the system did not understand you. Put what you want another way.",
    "misread": "the system speaks of something that you did not mean. Correct it.",
    "failed": "no answer came. Say again what you want.",
    "simulated": "",
}
"""What a user is told of each occasion, after "Why the script does not do:"."""
_MOVES: Mapping[Occasion, Move] = {"asked-back": "answer", "misread": "correction", "simulated": "message"}


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
    """The intent, as recorded, or what the ``goal`` says."""
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
    goal: UserGoal | None = None
    """What the conversation is for, where nothing of it was recorded."""
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
    """Empty only where they say nothing (``skip``), or end the conversation."""
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


@runtime_checkable
class GoalUser(Protocol):
    """A user who can talk without a script."""

    def for_goals(self) -> User:
        """Return the user who words what a goal asks for, or ends the conversation."""
        ...


async def word_turn(
    user: User,
    request: WordingRequest,
    reason_against: Callable[[Wording, WordingRequest], Awaitable[str | None]],
    *,
    attempts: int = ATTEMPTS,
) -> Intervention:
    """
    Return what *user* does about *request*, tested by *reason_against*, which gives None where it holds.

    What fails is worded again with the reason, *attempts* wordings at most, and then not said.
    """
    asks, costs = 0, list[float | None]()
    while True:
        wording = await user.word(request)
        asks += wording.asks
        costs.append(wording.cost_usd)
        reason = await reason_against(wording, request)
        is_over = reason is None or len(request.rejected) + 1 == attempts
        if reason is not None:
            rejected = RejectedWording(text=wording.text, reason=reason)
            request = replace(request, rejected=(*request.rejected, rejected))
        if is_over:
            break
    is_said = reason is None and wording.move not in ENDINGS
    return Intervention(
        occasion=request.occasion,
        evidence=request.evidence,
        move="skip" if reason else wording.move,
        said=wording.text.strip() if is_said else None,
        source=wording.source if is_said else "",
        note=None if is_said else reason or wording.note,
        rejected=request.rejected,
        asks=asks,
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def build_user(setting: NestedChoice, folder: Path, price_table: PriceTable = NO_PRICES) -> User:
    """
    Return the user that a policy's ``user`` setting names; *price_table* is the scenario's.

    Raises:
        ScenarioError: it can't be built; faults are located below ``user``.
    """
    return make_nested("users", setting, User, folder=folder, price_table=price_table)  # type: ignore[type-abstract]


def skip(note: str) -> Wording:
    """Return that nothing is said, for the reason *note*."""
    return Wording(move="skip", note=note)


_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DAYS = "mon|tues|wednes|thurs|fri|satur|sun"
KINDS: Mapping[str, re.Pattern[str]] = {
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "date": re.compile(
        rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTHS})[a-z]*\b(?: \d{{4}})?|\b(?:{_MONTHS})[a-z]* \d{{1,2}}\b"
        rf"|\b\d{{4}}-\d\d-\d\d\b|\b(?:{_DAYS})day\b",
        re.IGNORECASE,
    ),
    "number": re.compile(r"\b(?=[\w-]*\d[\w-]*\d[\w-]*\d)[A-Za-z]{0,4}[-#]?\d[\w-]*\b"),
    "name": re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]+(?: (?:[A-Z][\w'-]+|\d+))*"),
}
"""How facts look, by kind. A number has three digits at least; a name does not begin a sentence."""
_NO_NAMES = frozenset(("i", "i'm", "i've", "i'd", "ok", "hi", "hello", "thanks", "json", "faq", "id"))


@lru_cache(maxsize=4096)
def facts_in(text: str) -> tuple[UserFact, ...]:
    """Return the facts that *text* states, by their looks, in order of kind; none is part of another."""
    found: list[UserFact] = []
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text):
            value = match[0]
            is_part = any(value.casefold() in one.value.casefold() for one in found)
            if not is_part and value.casefold() not in _NO_NAMES:
                found.append(UserFact(kind=kind, value=value))
    return tuple(found)


def known_facts(conversation: Conversation) -> tuple[UserFact, ...]:
    """
    Return what the recorded user of *conversation* knew from the outset, each fact once.

    Those are the facts that they said before anybody had, since who repeats an order number from an answer
    has it from there, and those that the data names (``metadata.user_facts``, an object of texts).
    """
    return tuple(_facts_of_data(conversation)) + tuple(_said_first(conversation))


def _facts_of_data(conversation: Conversation) -> Iterator[UserFact]:
    named = conversation.metadata.get("user_facts")
    if isinstance(named, Mapping):
        for kind, value in named.items():
            yield UserFact(kind=str(kind), value=str(value))


def _said_first(conversation: Conversation) -> Iterator[UserFact]:
    said = " ".join((conversation.title, conversation.section, conversation.background)).casefold()
    for turn in conversation.turns:
        for fact in facts_in(turn.question):
            if fact.value.casefold() not in said:
                yield fact
                said += f" {fact.value.casefold()}"
        said += f" {turn.question} {turn.gold_answer or ''}".casefold()
