"""
Whether what a user worded may be said: tests of the words alone, each with a reason that a user can act on.

The recorded intent is known, so it needs no rubric. A wording may name nothing that only an answer to come
could have told, no number or name that neither the intent nor the conversation has, and nothing that only
the system has claimed; it is no turn that was said before, no goodbye, no part of another role, no thought
and no markup, and about as long as what this user says. Without a script a goal is all that is known: numbers
and addresses stand in it or in the conversation, and what the system says may be taken over. What fails is
never mended: it is worded again, or not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rapidfuzz import fuzz

from replay.core.conversation import Conversation, UserGoal
from replay.coreference.reading.words import content_words, words
from replay.scorers.checks.english import question_in
from replay.users.user import UserFact, Wording, WordingRequest, facts_in

LEAST_ROOM = 20
"""Words that anybody may use, however short their recorded turns are."""
GOAL_ROOM = 60
"""Words that a user may use of whom nothing was recorded, unless they began with more."""
REACHED = "GOAL REACHED"
GIVEN_UP = "GIVEN UP"
"""What a user writes alone to end a conversation without a script."""
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


_MARK = re.compile(rf"\b(?:{REACHED}|{GIVEN_UP})\b")
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
    if request.goal is not None and (mark := _MARK.search(text)):
        return f'it has "{mark[0]}" among other words; write that alone, or not at all'
    if (end := _ENDS.search(text)) and end[0].casefold() not in intents.casefold():
        return f'it ends the conversation ("{end[0]}"), and the intent is still open'
    if again := _said_before(text, wording, request):
        return f'it was said before: "{again}"'
    if reason := _too_long(text, request):
        return reason
    if told := sorted(known.forbidden & set(content_words(text))):
        return f'it names what the user can\'t know yet ("{told[0]}")'
    facts = facts_in(text)
    for fact in facts:
        # Who talks without a script names days and places that nobody could list; but no made-up numbers.
        may_invent = request.goal is not None and fact.kind in ("date", "name")
        if not may_invent and fact.value.casefold() not in known.known:
            return f'it names a {fact.kind} that nobody has said ("{fact.value}")'
    if request.goal is None and not _DENIES.search(text):
        for fact in facts:
            if fact.value.casefold() not in known.recorded:
                return f'it takes over from the system what the user never meant ("{fact.value}")'
    if _YES.match(text) and (claimed := _only_claimed(request, known)):
        return f'it agrees to what the user never meant ("{claimed}")'
    own = [fact for fact in facts if fact.value.casefold() not in intents.casefold()]
    if request.goal is not None:
        if question_in(request.reply) is not None:
            return None  # who is asked for a name, a number and an address may give all three
        own = [fact for fact in own if not _has_said(fact, request)]
    most = 0 if request.occasion == "drifted" else 1
    beyond = [fact for fact in own if any(_is_among(fact, one, request) for one in request.facts)]
    if len(beyond) > most:
        return f'it tells more than is asked for ("{beyond[-1].value}")'
    return None


def goal_knowledge(goal: UserGoal, request: WordingRequest) -> Knowledge:
    """
    Return what may be said in a conversation for *goal*: what it says, and all that was said since.

    What the system has told them the user may take over: nobody recorded that they meant something else.
    """
    told = (goal.wants, goal.persona, *goal.facts.values(), *goal.guidelines, goal.opener or "")
    said = [text for one in request.history for text in (one.question, one.answer)]
    known = _join((*told, *said))
    return Knowledge(forbidden=frozenset(), known=known, recorded=known)


def reason_against_end(wording: Wording, request: WordingRequest) -> str | None:
    """Return why a conversation can't end with *wording*, which ends it; None where it can."""
    if request.history or wording.move == "skip":
        return None
    return "nothing was answered yet; say what you want"


def _too_long(text: str, request: WordingRequest) -> str | None:
    count = len(text.split())
    if request.goal is not None:
        most = max([GOAL_ROOM, *(len(turn.split()) for turn in request.own_turns)])
        return f"it has {count} words, and {most} are the most" if count > most else None
    longest = max(len(turn.split()) for turn in (*request.own_turns, *request.intents))
    if count > max(LEAST_ROOM, ROOM * longest):
        return f"it has {count} words, and this user's longest turn has {longest}"
    return None


def _is_among(fact: UserFact, known: UserFact, request: WordingRequest) -> bool:
    """Return whether *fact* is one that is *known*; a goal's are texts with several."""
    if request.goal is None:
        return fact.value == known.value
    return fact.value.casefold() in known.value.casefold()


def _has_said(fact: UserFact, request: WordingRequest) -> bool:
    return any(fact.value.casefold() in one.question.casefold() for one in request.history)


def _said_before(text: str, wording: Wording, request: WordingRequest) -> str | None:
    if wording.move == "confirmation" or request.occasion == "failed":
        return None
    new = " ".join(words(text))
    if request.goal is not None and len(new.split()) <= 3:
        return None  # "Yes, please." is said to more than one question
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
