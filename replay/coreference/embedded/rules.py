"""
Chooses an antecedent for each mention of a question by rules, each of which gives points.

They follow from what people do in information-seeking conversations: they ask about the topic, or about
what the last answer brought up. There is one function per class of mentions. What they weigh is the same:
what sort of thing the mention asks for, how recently the candidate was said, and that most questions are
about the topic. The candidate with the most points is chosen, unless it has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.embedded.candidates import Candidate
from replay.coreference.embedded.choices import Choice, choice, clusters
from replay.coreference.embedded.lexicon import (
    GROUPS,
    PLURAL_PEOPLE,
    RELATIVES,
    TIMES,
    WORKS,
    gender,
    singular,
)
from replay.coreference.embedded.scene import Scene, look_at
from replay.coreference.embedded.spans import is_date
from replay.coreference.language import ENGLISH_ONLY
from replay.coreference.resolver import Cluster, Document
from replay.coreference.words import tokens, words

VERSION = 1
"""Raised whenever a reading could come out differently."""
_MOMENTS = frozenset({"year", "season", "day", "month", "week", "moment", "date"})
_NAMING = ("title", "name", "section", "quote", "answer")


@dataclass(frozen=True, slots=True)
class RulesResolver:
    """The rules alone: needs no weights and no numpy, and gives no distributions."""

    languages: ClassVar[frozenset[str]] = ENGLISH_ONLY

    @property
    def signature(self) -> str:
        return f"rules-{VERSION}"

    def read(self, documents: Sequence[Document]) -> list[tuple[Reading, ...]]:
        """Readings of each document's question, in order of position."""
        return [tuple(chosen.reading for chosen in read_document(document)) for document in documents]

    def resolve(self, documents: Sequence[Document]) -> list[list[Cluster]]:
        """The same as clusters."""
        return [clusters(document, read_document(document)) for document in documents]


def read_document(document: Document) -> tuple[Choice, ...]:
    """One choice per mention of the document's question, in order of position."""
    scene = look_at(document)
    return tuple(choice(mention, _best(scene, mention)) for mention in scene.mentions) if scene else ()


def _best(scene: Scene, mention: Mention) -> Candidate | None:
    """The candidate with the most points, of several the first; None where none has any."""
    gained = [points(scene, mention, candidate) for candidate in scene.candidates]
    most = max(gained, default=0.0)
    return scene.candidates[gained.index(most)] if most > 0 else None


def points(scene: Scene, mention: Mention, candidate: Candidate) -> float:
    """The points of *candidate* as the antecedent of *mention*."""
    if scene.question_words.issuperset(candidate.key):
        return 0.0  # the question says it already
    topic = candidate.key == scene.topic.key
    if not topic and set(candidate.key) <= set(scene.topic.key):
        return 0.0  # the topic again, by a shorter name
    match mention.kind:
        case "he" | "she":
            return _one_person(scene, mention, candidate, topic)
        case "they":
            return _several(scene, candidate, topic)
        case "it":
            return _thing(scene, candidate, topic)
        case "this":
            return _happening(scene, candidate, topic)
        case _:
            return _with_noun(scene, mention, candidate, topic)


def _recency(scene: Scene, candidate: Candidate) -> float:
    """1 when said in the newest turn, less for each turn since; 0 outside the turns."""
    turn = candidate.last.turn
    return max(0.0, 1.0 - 0.3 * (scene.last_turn - turn)) if turn >= 0 else 0.0


def is_proper(candidate: Candidate) -> bool:
    """A name by its look: no digits, capitals but for the short words."""
    return candidate.kind in _NAMING and all(
        word[0].isupper() or len(word) <= 3 for word in candidate.text.split()
    )


def is_named_section(candidate: Candidate) -> bool:
    """ "Mad Science Recordings" names something, "Childhood memories" describes the section."""
    return candidate.kind == "section" and all(
        token.is_capitalized for token in tokens(candidate.text) if token.normal in candidate.key
    )


def is_person(candidate: Candidate) -> float:
    """From -1, no person, to 1, surely one."""
    if is_date(candidate.key) or candidate.kind in ("quote", "clause", "date"):
        return -1.0
    if gender(candidate.key):
        return 1.0
    heads = {singular(word) for word in candidate.key}
    if heads & (GROUPS | WORKS) or candidate.text.lower().startswith("the ") or " and " in candidate.text:
        return -1.0
    if any(word.isdigit() for word in candidate.key):
        return -1.0
    return {1: 0.2, 2: 0.4, 3: 0.2}.get(len(candidate.key), -1.0) if is_proper(candidate) else -0.5


def _one_person(scene: Scene, mention: Mention, candidate: Candidate, topic: bool) -> float:
    wanted = 1.0 if mention.kind == "he" else -1.0
    if mention.start in scene.named_in_question:
        return 0.0
    if topic:
        agrees = scene.topic_gender * wanted
        if agrees < 0:
            return 2.0
        return (3.6 if agrees else 3.2) if scene.topic_is_person else 0.6
    person = is_person(candidate)
    sex = gender(candidate.key)
    if person < 0 or sex * wanted < 0 or not is_proper(candidate):
        return 0.0
    in_question = candidate.last.place == "question"
    said = min(3, len(candidate.occurrences))
    recency = _recency(scene, candidate) * (0.8 if scene.topic_is_person else 1.6)
    return 0.5 + person + abs(sex) * 0.5 + recency + 0.1 * said + 0.2 * in_question


def _several(scene: Scene, candidate: Candidate, topic: bool) -> float:
    if topic:
        return 1.2 if scene.topic_is_person else 3.0
    if candidate.kind in ("clause", "date") or is_date(candidate.key):
        return 0.0
    recency = _recency(scene, candidate)
    if candidate.kind == "section":
        fits = scene.topic_is_person and is_person(candidate) <= 0.4 and is_named_section(candidate)
        return 1.3 if fits else 0.0
    if recency < 0.6:
        return 0.0
    if " and " in candidate.text and candidate.kind in ("name", "answer"):
        return 1.3 + recency
    if PLURAL_PEOPLE.intersection(candidate.key) and candidate.kind in ("phrase", "answer"):
        return 1.0 + recency
    return 0.5 + recency if GROUPS.intersection(candidate.key) else 0.0


def _thing(scene: Scene, candidate: Candidate, topic: bool) -> float:
    if candidate.kind in ("clause", "date") or is_date(candidate.key):
        return 0.0
    if topic:
        return 0.9 if scene.topic_is_person else 1.9
    recency = _recency(scene, candidate)
    if candidate.kind == "section":
        return (1.3 if is_named_section(candidate) else 0.7) + recency
    if candidate.kind not in _NAMING or is_person(candidate) > 0.3:
        return 0.0
    in_question = candidate.last.place == "question"
    work = WORKS.intersection((singular(candidate.last.before),))
    return 0.3 + recency + 0.4 * (candidate.kind == "quote") + 0.4 * in_question + 0.6 * bool(work)


def _happening(scene: Scene, candidate: Candidate, topic: bool) -> float:
    """ "this" and "that" alone: what the last answer said, best by something it names at its end."""
    if topic:
        return 0.0 if scene.topic_is_person else 0.5
    if candidate.last.place != "answer" or is_date(candidate.key):
        return 0.9 if candidate.kind == "section" else 0.0
    recency = _recency(scene, candidate)
    if recency < 0.6:
        return 0.0
    base = {"answer": 2.0, "quote": 1.9, "name": 1.7, "phrase": 1.5, "clause": 1.2}.get(candidate.kind, 0.5)
    return base + recency + 0.5 * candidate.last.position - 0.5 * (is_person(candidate) >= 0.4)


def _with_noun(scene: Scene, mention: Mention, candidate: Candidate, topic: bool) -> float:
    noun = singular(words(mention.text)[-1])
    recency = _recency(scene, candidate)
    if noun in TIMES:
        if candidate.kind == "date" and candidate.first.place == "section":
            return 1.5 if noun in _MOMENTS else 3.2 + 0.1 * len(candidate.key)
        if candidate.kind == "date":
            return 1.0 + recency
        counted = any(word[0].isdigit() for word in candidate.key)
        return (
            1.2 + recency
            if counted and candidate.kind != "clause" and singular(candidate.head) == noun
            else 0.0
        )
    if candidate.kind == "date" or noun in RELATIVES:
        return 0.0
    if topic:
        if scene.topic_is_person:
            return 0.0
        noted = noun in (singular(word) for word in (*words(scene.topic.note), *scene.topic.key))
        return 3.4 if noted else 2.4 if noun in GROUPS else 1.9 if noun in WORKS else 0.7
    if any(noun == singular(o.before) for o in candidate.occurrences) and candidate.kind in _NAMING:
        return 2.2 + recency  # "the album Thriller"
    named = candidate.kind in ("section", "quote", "name") and is_person(candidate) <= 0.3
    if named and noun in WORKS | GROUPS:
        fits = candidate.kind == "quote" and noun in WORKS
        return 1.0 + recency * 0.8 + 0.4 * fits + 0.6 * (candidate.kind == "section")
    if noun == singular(candidate.head) and len(candidate.key) > 1 and candidate.kind != "clause":
        return 1.2 + recency
    if noun in WORKS | GROUPS or mention.kind == "the-noun":
        return 0.0
    if candidate.kind in ("clause", "answer") and candidate.last.place == "answer":
        return 0.6 + recency
    return 0.0
