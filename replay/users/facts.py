"""
What the recorded user knew by themselves: numbers, addresses, dates and names that they said before anybody
had.

What they were told first is none: who repeats an order number from an answer has it from there. To that
come the facts that the data names (``metadata.user_facts``, an object of texts).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from replay.core.conversation import Conversation
from replay.users.user import UserFact

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
    """Return what the recorded user of *conversation* knew from the outset, each fact once."""
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
