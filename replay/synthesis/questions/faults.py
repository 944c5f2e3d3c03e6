"""What speaks against asking a question: too broad, misread, told by its passage alone, true on one day."""

from __future__ import annotations

import re

from replay.coreference.reading.words import content_words
from replay.synthesis.questions.question import DocumentFact

LONGEST_QUESTION = 28
"""Words."""
_LEANING_ANSWER = re.compile(
    r"^(?:those|these|this|that|such)\b|, (?:those|these)\b"
    r"|\b(?:this|that|these|the|previous|next) steps?\b|\bstep \d",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"\bbe(?: \w+)? be\b|^How do I \w+ and \w+ing\b"
    r"|\ban? (?:(?!of|with|for|to|that|in)[\w-]+ ){0,2}\w+[^s\Wui]s (?:is|has|does)\b"
    r"|^(?:Is|Are) .*\b(?:way|method|option|approach) by \w+ing\b"
    r"|^(?:Is|Are|Can|Could) .*\b(?:found|accessed|viewed|read) (?:at|in|on)\b"
    r"|\b(?:have to|must|can|should|will)\?$"
)
"""What no question has: "only be accessed" twice, "import and exporting", "a service accounts is" ..."""
_WRITTEN = re.compile(r"Where .*\b(?:written|implemented|coded|expressed|formatted)\b")
_NO_PLACE = re.compile(
    r"\bin (?:terms of|an? (?:\w+ )?(?:way|manner|fashion|order))\b"
    r"|\b(?:old|new|same|other|right|following|appropriate) (?:location|place|folder|directory)\b"
)
_VAGUE = re.compile(r"What (?:does|do|can) (?:[\w.-]+ ){1,4}(?:use|provide|offer|support|allow)\?")
_POINTING = re.compile(r"\b(?:this|these|here)\b", re.IGNORECASE)
_ON_THE_DAY = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|(?:this|last|next) (?:week|month|quarter|year))\b", re.IGNORECASE
)
_SOMEBODY = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
"""Whom a document named elsewhere."""
_NOT_SO = re.compile(r"\b(?:does not|doesn['’]t|do not|don['’]t) (?:\w+ )?mean\b")
_UNSAID = re.compile(
    r"^How (?:do|does|can) (?:most|some|many) "
    r"|^(?!.*\ba certain).*\bcertain \w+|^(?:How|What|Which|Where).*\b(?:different|various) \w+s\?$"
    r"|\b(?:suitable|appropriate|as well|too)\?$|\bboth (?!.*\band\b)"
    r"|\bsimilar (?!to\b)\w+(?:\?$| (?!to\b))"
    r"|\b(?:if|when) (?:none|neither|either|any|all|some) (?:is|are|has|have)\b"
)
"""What is told apart by what only the passage says: "certain options", "both ways", "if none are set"."""
_WAS_ONCE = re.compile(r"(?:Was|Were|Did) [^\d]*\?")
"""What somebody once did or saw, without a date or a version."""
_OF_WHAT = re.compile(
    r"\bthe (?:maximum|minimum|total|average|initial|final|actual|desired|resulting) \w+"
    r"(?=\?| (?:is|are|does|do|default|depend)\b)"
)
"""A measure whose thing the sentence doesn't name: "the maximum diameter"."""


def fault_of(fact: DocumentFact) -> str:
    """Return why *fact* is not asked; empty if nothing speaks against it."""
    question, answer = fact.question, fact.answers[0]
    if fact.section.text[fact.start : fact.end] != answer:
        raise ValueError(f"{fact.section.id}: the answer to {question!r} does not stand at {fact.start}")
    if len(question.split()) > LONGEST_QUESTION:
        return "question too long"
    if (
        _BROKEN.search(question)
        or _WRITTEN.match(question)
        or (question.startswith("Where") and _NO_PLACE.search(answer))
    ):
        return "the sentence was misread"
    if _VAGUE.fullmatch(question) or _UNSAID.search(question):
        return "too broad"
    if _SOMEBODY.search(f"{question} {answer}") or _OF_WHAT.search(question):
        return "nothing tells what it is about"
    if _ON_THE_DAY.search(question) or _ON_THE_DAY.search(answer):
        return "is true on one day"
    if _WAS_ONCE.fullmatch(question):
        return "tells what was once so"
    if fact.kind == "condition" and _NOT_SO.search(answer):
        return "the answer says only what is not so"
    points = fact.kind in ("procedure", "condition") and _POINTING.search(answer)
    if points or _LEANING_ANSWER.search(answer):
        return "the answer leans on what stands around it"
    if re.search(r"[*_~]{2}|(?:^| )@\w|\[|\]|&\w+;|\s[*_]\w|\w[*_]\s|[“”\"/]\?$", question) or question.count(
        "("
    ) != question.count(")"):
        return "markup or half a parenthesis in the question"
    if (
        fact.kind not in ("yes-no", "cell", "difference")
        and len(set(content_words(answer)) - set(content_words(question))) < 2
    ):
        return "the question gives the answer away"
    return ""
