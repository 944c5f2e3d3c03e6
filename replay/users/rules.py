"""
``rules``: a user without a model, free and the same each time.

They have the recorded turn's wordings and the facts that the recorded user knew, and say nothing where
these do not answer: a turn that goes on without them is better than one that they spoil.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replay.coreference.reading.words import content_words, word_set, words
from replay.users.replies import is_yes_no
from replay.users.user import UserFact, Wording, WordingRequest, facts_in, skip

VERSION = 1
"""Raised whenever the same request could be worded otherwise."""
_ASKED_FOR: Mapping[str, re.Pattern[str]] = {
    "number": re.compile(
        r"\b(?:number|id|reference|code|order|booking|account|ticket|case|claim|flight)s?\b"
    ),
    "email": re.compile(r"\be-?mail\b"),
    "date": re.compile(r"\b(?:date|day|when|month)s?\b"),
    "name": re.compile(r"\b(?:name|who|whose|whom|city|town|where|address|place|person|which)s?\b"),
}
"""What a request for a fact of each kind says."""
_SAID_WITH = {"number": "It's {}.", "email": "My email address is {}."}
_GENERIC = word_set(
    """
    want like confirm confirmation proceed go sure help need please wish continue mean meant correct right
    okay ok ask asking question tell know
    """
)
"""Words of a request for a confirmation that say nothing of what is to be confirmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesUser:
    """Says what is known in the order in which it helps most."""

    @property
    def signature(self) -> str:
        return f"rules-{VERSION}"

    async def word(self, request: WordingRequest) -> Wording:
        tried = {one.text for one in request.rejected}
        for wording in _wordings(request):
            if wording.text not in tried:
                return wording
        note = request.rejected[-1].reason if request.rejected else "nothing that is recorded says more"
        return skip(note)


def _wordings(request: WordingRequest) -> Iterator[Wording]:
    if request.occasion == "misread":
        yield from _corrections(request)
    elif request.occasion == "asked-back":
        yield from _answers(request)
    else:
        yield from _rephrasings(request)


def _rephrasings(request: WordingRequest) -> Iterator[Wording]:
    """Yield the fullest wording of the intent, unless it was said; after a failure all of them."""
    if request.occasion == "failed":
        for text in request.intents:
            yield Wording(move="rephrasing", text=text, source=_source(text, request))
    elif (fullest := _unsaid(request)) is not None:
        yield Wording(move="rephrasing", text=fullest, source=_source(fullest, request))


def _unsaid(request: WordingRequest) -> str | None:
    """Return the fullest wording of the intent; None if it was said already."""
    fullest = request.intents[0]
    said = {words(exchange.question) for exchange in request.history}
    return None if words(fullest) in said or words(fullest) == words(request.question) else fullest


def _source(text: str, request: WordingRequest) -> str:
    if text == request.question:
        return "script"
    return "standalone" if text == request.standalone else "rewriting"


def _corrections(request: WordingRequest) -> Iterator[Wording]:
    for _, meaning in request.meanings:
        first, _, rest = meaning.partition(" ")
        named = f"{first.lower()} {rest}" if first.lower() in ("the", "a", "an", "my", "this") else meaning
        yield Wording(move="correction", text=f"No, I meant {named.rstrip('.!?')}.", source="rewriting")


def _answers(request: WordingRequest) -> Iterator[Wording]:
    asked = request.reply.casefold()
    if is_yes_no(request.evidence):
        if _is_confirmed(request):
            yield Wording(move="confirmation", text="Yes, please.", source="script")
        return
    facts = [fact for fact in _facts(request) if _asks_for(fact, asked)]
    if facts and _is_only(facts[0], facts, request):
        text = _SAID_WITH.get(facts[0].kind, "{}.").format(facts[0].value)
        yield Wording(move="answer", text=text, source="facts")
    if (fullest := _unsaid(request)) is not None:
        yield Wording(move="answer", text=fullest, source=_source(fullest, request))


def _facts(request: WordingRequest) -> Iterator[UserFact]:
    """Yield the intent's own facts that the user knew, then the others."""
    own = {fact.value.casefold() for text in request.intents for fact in facts_in(text)}
    yield from sorted(request.facts, key=lambda fact: fact.value.casefold() not in own)


def _asks_for(fact: UserFact, asked: str) -> bool:
    if fact.kind in _ASKED_FOR:
        return bool(_ASKED_FOR[fact.kind].search(asked)) and fact.kind != "name"
    return all(re.search(rf"\b{re.escape(word)}", asked) for word in words(fact.kind))


def _is_only(fact: UserFact, facts: list[UserFact], request: WordingRequest) -> bool:
    """Return whether there is no doubt that *fact* is meant: the intent names it, or there is no other."""
    if any(fact.value.casefold() in text.casefold() for text in request.intents):
        return True
    return sum(one.kind == fact.kind for one in facts) == 1


def _is_confirmed(request: WordingRequest) -> bool:
    """Return whether the script goes on as if the question had been affirmed, and it asks for nothing
    else."""
    if request.next_question is None or re.match(
        r"(?:no|not|don't|stop|wait)\b", request.next_question.lower()
    ):
        return False
    wanted = {word for text in (*request.intents, request.next_question) for word in content_words(text)}
    asked = set(content_words(request.evidence)) - _GENERIC
    return bool(asked) and asked <= wanted
