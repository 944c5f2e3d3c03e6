"""
A question to documents: what it asks, where its answer is, what it shares with others, how it leans on them.

What a question leans on is known, since it is taken out of it here. A standalone question that follows
another on the same thing says "it", "its" or "that parameter" in its place; one that asks the same of
something else is cut to "And a node?"; a reason is asked with "Why?".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from replay.coreference.reading.words import word_set
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


Way = Literal["pronoun", "possessive", "demonstrative", "ellipsis", "ordinal", "why", "setting", "else"]

_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SPEAKS_OF_A_PERSON = re.compile(r"\b(?:he|she|his|her|him)\b", re.IGNORECASE)
_PERSONS = word_set(
    """
    manager director analyst lead head owner user admin administrator developer engineer designer person
    employee contractor customer client member maintainer author reviewer moderator teacher instructor
    student patient doctor nurse parent child officer president secretary contributor applicant candidate
    colleague teammate recruiter interviewer volunteer participant seller buyer
    supervisor trainer guest visitor speaker host buddy mentor
    """
)
_OWNED = re.compile(r"(?P<lead>.*)\bthe (?P<thing>[a-z -]+) of $")
_JOINED = re.compile(r"^What (?:happens|should happen|should I do) (?P<word>if|when|once) \{\}\?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReference:
    """One expression of a question that leans on what was said, and what it stands for."""

    way: Way
    start: int
    end: int
    """Offsets in the question; both the same place where nothing stands for what was left out."""
    text: str
    antecedent: str
    """What it stands for: the words of the standalone question that are taken out."""
    depth: int
    """Depth of the turn, from 1, that spoke of it last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForm:
    """A question as it is asked in its place of a conversation."""

    fact: DocumentFact
    question: str
    references: tuple[QuestionReference, ...] = ()

    @property
    def way(self) -> Way | None:
        """Return how it leans on the conversation, None if it doesn't."""
        return self.references[0].way if self.references else None


def lean_on(fact: DocumentFact, before: DocumentFact, depth: int) -> Iterator[QuestionForm]:
    """Yield the ways to ask *fact* so that it leans on *before*, which was asked at *depth*, one turn ago."""
    if fact.reason_for and fact.reason_for == before.question:
        question = "Why not?" if fact.is_denied else "Why?"
        yield _left_out(fact, question, "why", fact.question.removesuffix("?"), depth)
        return
    if fact.more_of:
        follows = fact.more_of == before.question and fact.section.id == before.section.id
        if follows and fact.topic is not None:
            does = "do" if fact.topic.is_plural else "does"
            pronoun = _pronoun(fact) or fact.topic.text
            question = f"What else {does} {pronoun} do?"
            yield _refer(fact, question, "else", len("What "), "else", before.act, depth)
        return
    if fact.place and before.kind == "list" and fact.list_start == before.list_start:
        if fact.place <= len(_PLACES) and fact.section.id == before.section.id:
            said = f"the {_PLACES[fact.place - 1]} one"
            yield _put(fact, said, "ordinal", depth)
        return
    if fact.frame and fact.frame == before.frame and fact.filler != before.filler:
        joined = _JOINED.match(fact.frame)
        question = f"And {joined['word']} {fact.filler}?" if joined else f"And {fact.filler}?"
        said = fact.frame.replace("{}", "").removesuffix("?").strip()
        yield _left_out(fact, question, "ellipsis", said, depth)
    topic = fact.topic
    if topic is None:
        return
    same = before.topic is not None and (topic.key, topic.is_plural) == (
        before.topic.key,
        before.topic.is_plural,
    )
    owned = _OWNED.match(fact.question[: topic.start]) if topic.is_owner else None
    if same and owned is not None:
        start, word = len(owned["lead"]), "their" if topic.is_plural else "its"
        question = f"{owned['lead']}{word} {owned['thing']}{fact.question[topic.start + len(topic.text) :]}"
        yield _refer(fact, question, "possessive", start, word, topic.text, depth)
    elif (
        same
        and fact.kind != "difference"
        and fact.question != f"What is {topic.text}?"
        and (pronoun := _pronoun(fact))
    ):
        yield _put(fact, pronoun, "pronoun", depth)
    noun = _general_noun(topic)
    if noun and (same or _is_only(topic, noun, f"{before.question} {before.answers[0]}")):
        yield _put(fact, f"{'those' if topic.is_plural else 'that'} {noun}", "demonstrative", depth)


def _general_noun(topic: QuestionTopic) -> str:
    """Return the last word of *topic* where it says what kind of thing it is: "flow" of "a config flow"."""
    words = topic.text.split()
    is_common = (
        words[-1].isalpha() and words[-1].islower() and not set(words) & {"of", "for", "in", "between", "my"}
    )
    return words[-1] if len(words) > 2 and words[0] in ("the", "a", "an") and is_common else ""


def _is_only(topic: QuestionTopic, noun: str, said: str) -> bool:
    """Return whether *said* names *topic*, and nothing else by its *noun*."""
    low = said.lower()
    return topic.key in low and len(re.findall(rf"\b{re.escape(noun)}s?\b", low)) == low.count(topic.key)


def _put(fact: DocumentFact, said: str, way: Way, depth: int) -> QuestionForm:
    topic = fact.topic
    assert topic is not None
    start, end = topic.start, topic.start + len(topic.text)
    question = fact.question[:start] + said + fact.question[end:]
    return _refer(fact, question, way, start, said, topic.text, depth)


def _left_out(fact: DocumentFact, question: str, way: Way, antecedent: str, depth: int) -> QuestionForm:
    return _refer(fact, question, way, len(question) - 1, "", antecedent, depth)


def in_setting(fact: DocumentFact, said: Mapping[QuestionSetting, int]) -> QuestionForm:
    """Return *fact* asked without those of its settings that were *said*, each with the depth where."""
    unsaid = [one.text for one in fact.settings if not one.is_told and one not in said]
    question = opened_by(fact.question, unsaid)
    left_out = [
        _refer(fact, question, "setting", len(question) - 1, "", one.text, depth).references[0]
        for one, depth in said.items()
        if not one.is_told
    ]
    return QuestionForm(fact=fact, question=question, references=tuple(left_out))


def _refer(
    fact: DocumentFact, question: str, way: Way, at: int, text: str, antecedent: str, depth: int
) -> QuestionForm:
    found = QuestionReference(
        way=way, start=at, end=at + len(text), text=text, antecedent=antecedent, depth=depth
    )
    return QuestionForm(fact=fact, question=question, references=(found,))


def _pronoun(fact: DocumentFact) -> str:
    """Return what stands for the topic of *fact*; empty where it may be a person and nothing tells which."""
    topic = fact.topic
    assert topic is not None
    if topic.is_plural:
        return "they"
    if re.match(r"an? [a-z]+ of ", topic.text):
        return ""  # "a majority of the members"
    if _PERSONS & set(re.findall("[a-z]+", topic.text.lower())):
        return ""
    may_be_a_person = topic.text[:1].isupper() and all(
        word[:1].isupper() and word.isalpha() for word in topic.text.split()
    )
    if may_be_a_person and len(topic.text.split()) > 1 and _SPEAKS_OF_A_PERSON.search(fact.section.text):
        said = {word.lower() for word in _SPEAKS_OF_A_PERSON.findall(fact.section.text)}
        she, he = said & {"she", "her"}, said & {"he", "his", "him"}
        return "" if she and he else "she" if she else "he"
    return "it"
