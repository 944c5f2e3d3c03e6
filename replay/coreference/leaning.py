"""
Which questions lean on an earlier answer, on what, and which of them would mean something else if that answer
were wrong. It needs one history alone, as production logs have it.

A question leans on an answer where a resolver finds what one of its mentions means there. It is at risk where
the verdict says that it no longer means the same once each answer that says those words is ``DECLINED``. An
answer may be wrong in many ways; the one that says nothing leaves whatever the user's own words and the other
answers still tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Reading
from replay.core.history import Exchange
from replay.coreference.reading.language import ENGLISH_ONLY, not_readable
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import BackgroundUse, Document, Resolver, recorded_document
from replay.coreference.reading.verdict import decide_drift, drift_probability
from replay.coreference.reading.words import comparable_words, words

DECLINED = "I don't know."
"""What stands in place of an answer that is taken to be wrong."""

LeansOn = Literal["answer", "question", "background", "nothing"]
"""An earlier answer, an earlier question of the user, the title or text given with the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionLeaning:
    """What one question leans on."""

    depth: int
    question: str
    leans_on: LeansOn | None
    """None where it was not judged; of several things an answer, which alone can be wrong."""
    mention: str = ""
    """The question's words that lean; empty for what it leaves out."""
    words: str | None = None
    """What it leans on, quoted."""
    turns_back: int | None = None
    """How far the answer or question with these words is back; 1 is the turn before."""
    probability: float | None = None
    """That it means something else if the answer is wrong, in [0, 1]; None where it leans on none."""
    at_risk: bool = False
    not_judged: str | None = None
    """Why the resolver can't read it, in words."""


def find_leaning(
    conversation: Conversation,
    resolver: Resolver,
    *,
    window: int | None = 6,
    background: BackgroundUse = True,
    threshold: float | None = None,
) -> tuple[QuestionLeaning, ...]:
    """
    Return what each question of *conversation* leans on in the recorded history.

    Args:
        conversation: The conversation; its gold answers are those that were given.
        resolver: Reads the questions' mentions.
        window: The number of exchanges before a question that are read; None for all.
        background: Whether title, section and background are read as well.
        threshold: From which probability on a question is at risk; that of the verdict ``strict`` by default.
    """
    languages = getattr(resolver, "languages", ENGLISH_ONLY)
    found = []
    for depth, turn in enumerate(conversation.turns, 1):
        if why := not_readable(turn.question, conversation, languages):
            found.append(QuestionLeaning(depth=depth, question=turn.question, leans_on=None, not_judged=why))
            continue
        document = recorded_document(conversation, depth, window=window, background=background)
        (readings,) = read_all(resolver, [document])
        found.append(_leaning(depth, document, readings, resolver, threshold))
    return tuple(found)


def _leaning(
    depth: int,
    document: Document,
    readings: Sequence[Reading],
    resolver: Resolver,
    threshold: float | None,
) -> QuestionLeaning:
    places = [(reading, *_place(document, reading)) for reading in readings if reading.antecedent]
    # An answer before a question, and of several the most probable.
    best = max(places, key=lambda place: (place[1] == "answer", _certainty(place[0])), default=None)
    if best is None:
        return QuestionLeaning(depth=depth, question=document.question, leans_on="nothing")
    reading, leans_on, turns_back = best
    found = QuestionLeaning(
        depth=depth,
        question=document.question,
        leans_on=leans_on,
        mention=reading.mention.text,
        words=reading.antecedent,
        turns_back=turns_back,
    )
    if leans_on != "answer":
        return found
    wrong = _without(document, _pattern(reading.antecedent or ""))
    likely = drift_probability(readings, gold_document=document, predicted_document=wrong)
    after = () if likely is not None else read_all(resolver, [wrong])[0]
    drift = decide_drift(readings, after, likely, predicted_document=wrong, threshold=threshold)
    return replace(found, probability=drift.probability, at_risk=drift.invalid)


def _place(document: Document, reading: Reading) -> tuple[LeansOn, int | None]:
    """
    Return whose words the antecedent is, and how many turns back; the newest turn that says it counts.

    What the user says as well, word for word, is the user's: it is there whatever was answered.
    """
    named = set(comparable_words(reading.antecedent or ""))
    for back, turn in enumerate(reversed(document.turns), 1):
        if named.issubset(words(turn.question)):
            return "question", back
    if any(named.issubset(words(text)) for text in (document.title, document.section, document.background)):
        return "background", None
    says = _pattern(reading.antecedent or "")
    known = reading.source if reading.source in ("answer", "question") else None
    for back, turn in enumerate(reversed(document.turns), 1):
        if known != "question" and says.search(turn.answer):
            return "answer", back
        if known != "answer" and says.search(turn.question):
            return "question", back
    return "background", None


def _without(document: Document, said: re.Pattern[str]) -> Document:
    turns = (
        Exchange(question=turn.question, answer=DECLINED) if said.search(turn.answer) else turn
        for turn in document.turns
    )
    return replace(document, turns=tuple(turns))


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)


def _certainty(reading: Reading) -> float:
    return sum(probability for probability, _ in reading.distribution) if reading.distribution else 1.0
