"""
Whether what a user worded may be said: tests of the words alone, each with a reason that a user can act on.

The recorded intent is known, so it needs no rubric. A wording may name nothing that only an answer to come
could have told, no number or name that neither the intent nor the conversation has, and nothing that only
the system has claimed; it is no turn that was said before, no goodbye, no part of another role, no thought
and no markup, and about as long as what this user says. What fails is never mended: it is worded again, or
not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz import fuzz

from replay.core.conversation import Conversation
from replay.coreference.reading.words import content_words, words
from replay.users.facts import facts_in
from replay.users.user import Wording, WordingRequest

LEAST_ROOM = 20
"""Words that anybody may use, however short their recorded turns are."""
ROOM = 1.5
"""What a wording may have of the words of this user's longest turn."""
REPEATED = 95
"""Likeness in per cent from which on a wording is a turn that was said before."""
_ENDS = re.compile(
    r"#{2,}\s*\w+|\[(?:end|stop|done)\]|<(?:end|stop|done)>|\b(?:good ?bye|bye)\b|\bthat(?:'s| is) all\b"
    r"|\bhave a (?:nice|good|great) (?:day|one)\b|\bnothing else\b",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"^\W*(?:user|customer|human|client|me|assistant|agent|bot|system|ai)\s*:|\n\s*(?:assistant|agent|bot|system)\s*:",
    re.IGNORECASE,
)
_ASSISTANT = re.compile(
    r"\b(?:how|what) (?:can|may|could) i (?:help|assist|do for)\b|\bas an ai\b|\bi(?:'d"
    r"| would) be happy to (?:help|assist)\b"
    r"|\bthank you for (?:contacting|reaching|your (?:patience|question))\b|\b(?:can|let) me (?:help"
    r"|assist) you\b"
    r"|\bis there anything else (?:i|we)\b|\bi(?:'ll| will| can) (?:look (?:that|it) up|check that"
    r"|transfer you)\b"
    r"|\bi(?:'m| am) (?:an? )?(?:ai|language model|assistant)\b|\bi have (?:refunded|cancelled"
    r"|updated|processed) your\b",
    re.IGNORECASE,
)
_THOUGHT = re.compile(
    r"</?\w+>|```|\*\*|\*[a-z ]{3,40}\*|^\s*[{\[]|\b(?:the user|the customer|the simulated|my (?:goal"
    r"|persona|task|role))\b"
    r"|\b(?:i should|i need to) (?:now )?(?:ask|say|respond|reply|pretend|act)\b|\(thinking"
    r"|^(?:thought|reasoning|note)s?:"
    r"|\bas (?:the|a) user\b|\bi am (?:simulating|playing)\b",
    re.IGNORECASE | re.MULTILINE,
)
_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|right|correct|exactly|that's (?:right|correct)|sure|indeed|ok(?:ay)?)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:no|not|instead of|rather than)\b|n't\b", re.IGNORECASE)


_QUOTES = "\"“”'‘’`«»"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What may be said in one turn."""

    forbidden: frozenset[str]
    """Content words that only answers to come have."""
    known: str
    """All that the user wants, knew, was told in the recording or in the play, in small letters."""
    recorded: str
    """The same without what the system said in the play."""


def knowledge(conversation: Conversation, depth: int, request: WordingRequest) -> Knowledge:
    """
    Return what may be said in the turn at *depth* of *conversation*; answers from there on are looked at
    here alone.

    Args:
        conversation: As recorded.
        depth: 1-based.
        request: What the user is given.
    """
    before, later = conversation.turns[: depth - 1], conversation.turns[depth - 1 :]
    recorded = [conversation.title, conversation.section, conversation.background, *request.intents]
    recorded += [
        text for turn in before for text in (turn.question, turn.standalone or "", *turn.gold_answers)
    ]
    recorded += [meaning for _, meaning in request.meanings]
    recorded += [fact.value for fact in request.facts]
    own = [exchange.question for exchange in request.history]
    told = [exchange.answer for exchange in request.history]
    allowed = {word for text in (*recorded, *own, *told) for word in words(text)}
    to_come = {word for turn in later for answer in turn.gold_answers for word in content_words(answer)}
    return Knowledge(
        forbidden=frozenset(to_come - allowed),
        known=_join((*recorded, *own, *told)),
        recorded=_join((*recorded, *own)),
    )


def _join(texts: Iterable[str]) -> str:
    return "\n".join(texts).casefold()


def unfaithful(wording: Wording, request: WordingRequest, known: Knowledge) -> str | None:
    """Return why *wording* can't be said, for whoever words it again; None where it can."""
    text = wording.text.strip()
    if not any(c.isalnum() for c in text):
        return "it is empty"
    if text[0] in _QUOTES and text[-1] in _QUOTES:
        return "it stands in quotation marks; say the words alone"
    if _ROLE.search(text):
        return "it has a role's name in it; say the words alone"
    if _THOUGHT.search(text) or len([line for line in text.splitlines() if line.strip()]) > 1:
        return "it has thoughts or markup in it; say the words alone, on one line"
    if _ASSISTANT.search(text):
        return "it is what the system would say; you are the user"
    intents = " ".join(request.intents)
    if (end := _ENDS.search(text)) and end[0].casefold() not in intents.casefold():
        return f'it ends the conversation ("{end[0]}"), and the intent is still open'
    if again := _said_before(text, wording, request):
        return f'it was said before: "{again}"'
    longest = max(len(turn.split()) for turn in (*request.own_turns, *request.intents))
    if len(text.split()) > max(LEAST_ROOM, ROOM * longest):
        return f"it has {len(text.split())} words, and this user's longest turn has {longest}"
    if told := sorted(known.forbidden & set(content_words(text))):
        return f'it names what the user can\'t know yet ("{told[0]}")'
    facts = facts_in(text)
    for fact in facts:
        if fact.value.casefold() not in known.known:
            return f'it names a {fact.kind} that nobody has said ("{fact.value}")'
    if not _DENIES.search(text):
        for fact in facts:
            if fact.value.casefold() not in known.recorded:
                return f'it takes over from the system what the user never meant ("{fact.value}")'
    if _YES.match(text) and (claimed := _only_claimed(request, known)):
        return f'it agrees to what the user never meant ("{claimed}")'
    own = [fact for fact in facts if fact.value.casefold() not in intents.casefold()]
    most = 0 if request.occasion == "drifted" else 1
    beyond = [fact for fact in own if any(fact.value == one.value for one in request.facts)]
    if len(beyond) > most:
        return f'it tells more than is asked for ("{beyond[-1].value}")'
    return None


def _said_before(text: str, wording: Wording, request: WordingRequest) -> str | None:
    if wording.move == "confirmation" or request.occasion == "failed":
        return None
    new = " ".join(words(text))
    for exchange in request.history:
        old = " ".join(words(exchange.question))
        if new == old or (len(new.split()) > 3 and fuzz.ratio(new, old) >= REPEATED):
            return exchange.question
    return None


def _only_claimed(request: WordingRequest, known: Knowledge) -> str | None:
    """Return a name or number of the reply's question that the system alone has said."""
    asked = request.reply.rpartition(". ")[2]
    claimed = [one.value for one in facts_in(asked) if one.value.casefold() not in known.recorded]
    return claimed[0] if claimed else None
