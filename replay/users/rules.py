"""
``rules``: a user without a model, free and the same each time; and how they read a reply.

They have the recorded turn's wordings and the facts that the recorded user knew, and say nothing where
these do not answer: a turn that goes on without them is better than one that they spoil.

A reply may do what the recorded one did not: ask back, refuse, not understand. Asking back and refusing are
read as the checks ``asks_back`` and ``refuses`` read them, with their quality (see
``replay.scorers.checks.english``). Where a recorded answer does one of the three, the script goes on from
there, so nothing is followed up. Neither is an offer after an answer ("Shall I book it?" behind three
sentences).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from replay.core.record import Occasion
from replay.coreference.reading.words import content_words, word_set, words
from replay.scorers.checks.english import question_in, refusal_in
from replay.users.user import UserFact, Wording, WordingRequest, facts_in, skip

_MISUNDERSTANDING = re.compile(
    r"\b(?:i|we)(?:'m| am)? (?:sorry,? )?(?:i |we )?(?:did not|didn't|do not|don't|could not|couldn't"
    r"|can't|cannot) "
    r"(?:\w+ )?(?:understand|follow|get that|catch that|get what|know what you mean)\b"
    r"|\b(?:please|can you|could you|would you)(?: please)? (?:rephrase|reword|say that again"
    r"|repeat that|put (?:it|"
    r"that) (?:differently|another way))\b"
    r"|\bnot (?:quite )?sure (?:what|which|who) you(?:'re| are)? (?:mean|asking|referring)\b"
    r"|\bwhat do you mean\b|\bi(?:'m| am) not following\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^(?:(?:and|so|then|ok|okay|sure|great),? )*(?:do|does|did|would|will|shall|should|can|could|may"
    r"|is|are|was|were|"
    r"have|has|am) (?:you|i|we|it|that|this|they|he|she|there|the)\b|\b(?:right|correct|okay|yes) ?\?$",
    re.IGNORECASE,
)
_ASKS_TO_TELL = re.compile(
    r"\b(?:can|could|would|will) you\b.*\b(?:tell|give|provide|specify|confirm (?:your|the))\b"
)
ANSWER_WORDS = 4
"""Content words beside a question that may be answered with yes or no, from which on the reply is an
answer."""


def misunderstanding_in(reply: str) -> str | None:
    """Return the words of *reply* that say it did not understand; None if none do."""
    found = _MISUNDERSTANDING.search(reply.replace("’", "'"))
    return found[0] if found else None


def is_yes_no(question: str) -> bool:
    """Return whether *question* can be answered with yes or no, and asks for nothing else."""
    return bool(_YES_NO.search(question)) and not _ASKS_TO_TELL.search(question)


def request_in(reply: str) -> str | None:
    """Return the normalized sentence of *reply* that waits for the user; None if none does."""
    question = question_in(reply)
    if question is None or not is_yes_no(question):
        return question
    beside = set(content_words(reply)) - set(content_words(question))
    return question if len(beside) < ANSWER_WORDS else None


_READINGS: Sequence[tuple[Occasion, Callable[[str], str | None]]] = (
    ("not-understood", misunderstanding_in),
    ("asked-back", request_in),
    ("refused", refusal_in),
)


def unexpected_in(reply: str, recorded: Sequence[str]) -> tuple[Occasion, str] | None:
    """
    Return what *reply* does that no *recorded* answer does, with the words that show it.

    None without a recorded answer: nobody knows then what the script goes on from.
    """
    if not recorded or any(find(answer) for answer in recorded for _, find in _READINGS):
        return None
    for occasion, find in _READINGS:
        if evidence := find(reply):
            return occasion, evidence
    return None


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
