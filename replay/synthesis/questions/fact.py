"""
What can be asked of a passage: a question, its answer's place, what it shares with others.

And what speaks against asking it: too broad, misread, told by its passage alone, true on one day.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replay.coreference.reading.words import content_words
from replay.synthesis.documents.document import SourceSection

Kind = Literal[
    "definition", "effect", "object", "amount", "time", "place", "reason", "condition", "procedure", "yes-no",
    "list", "item", "cell", "difference",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTopic:
    """The phrase of a question that says what it is about."""

    text: str
    """As it stands in the question: "the cache"."""
    start: int
    """Offset in the question."""
    is_plural: bool = False
    is_owner: bool = False
    """Whether it can give way to a possessive: "the size of the cache"."""

    @property
    def key(self) -> str:
        """Return what equal topics share: the words without article, in small letters."""
        words = self.text.lower().split()
        return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an", "my") else words)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSetting:
    """A document or a heading that says where a question belongs."""

    text: str
    """As it is said before the question: "TLS", "installing the agent"."""
    key: str
    """What no other document or heading has."""
    is_told: bool
    """Whether the question says as much itself."""


def opened_by(question: str, settings: Sequence[str]) -> str:
    """Return *question* after its *settings*: "About TLS, joining a node: Is a key needed?"."""
    return f"About {', '.join(settings)}: {question}" if settings else question


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFact:
    """One question that needs no context, and its answer."""

    kind: Kind
    question: str
    """As it is asked where *settings* are clear."""
    answers: tuple[str, ...]
    """A span of the section's text; then shorter ones that answer as well."""
    start: int
    """Offset of the first answer in the section's text."""
    section: SourceSection
    topic: QuestionTopic | None = None
    frame: str = ""
    """The question with ``{}`` for *filler*; after one of a frame, others can be asked as "And ...?"."""
    filler: str = ""
    place: int = 0
    """For an item of a list: which one, from 1; else 0."""
    list_start: int = -1
    """For an item and for its list: where the list begins in the section's text."""
    reason_for: str = ""
    """For a reason: the yes-or-no question whose "Why?" it is."""
    is_denied: bool = False
    """Whether a yes-or-no question is answered by no."""

    act: str = ""
    """For an effect: what its subject does, as "storing a copy"; empty where that isn't plain."""
    more_of: str = ""
    """For "Besides storing a copy, what does the agent do?": the question whose "What else ...?" it is."""
    settings: tuple[QuestionSetting, ...] = ()
    """What its page tells, outermost first."""

    @property
    def standalone(self) -> str:
        """Return the question with its settings, where it doesn't say them: "About TLS: Is a key needed?"."""
        return opened_by(self.question, [one.text for one in self.settings if not one.is_told])

    @property
    def end(self) -> int:
        """Return the offset after the first answer in the section's text."""
        return self.start + len(self.answers[0])


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
    r"^(?!.*\ba certain).*\bcertain \w+|^(?:How|What|Which|Where).*\b(?:different|various) \w+s\?$"
    r"|\b(?:suitable|appropriate|as well|too)\?$|\bboth (?!.*\band\b)"
    r"|\bsimilar (?!to\b)\w+(?:\?$| (?!to\b))"
)
"""What is told apart by what only the passage says: "certain options", "anyone suitable", "both ways"."""
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
