"""Features of a candidate: what it looks like, how it was said, and how it fits a mention."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from replay.core.drift_evidence import Mention
from replay.coreference.embedded.candidates import Candidate, CandidateKind
from replay.coreference.embedded.lexicon import (
    GROUPS,
    NOUN_CLASSES,
    PEOPLE_NOUNS,
    PLURAL_PEOPLE,
    RELATIVES,
    TIMES,
    WORKS,
    gender,
    singular,
)
from replay.coreference.embedded.rules import is_named_section, is_person, is_proper
from replay.coreference.embedded.scene import Scene
from replay.coreference.embedded.spans import is_date
from replay.coreference.embedded.surroundings import Names, Sentences, role
from replay.coreference.mentions import find_mentions
from replay.coreference.words import ARTICLES, word_set, words

_KINDS: tuple[CandidateKind, ...] = get_args(CandidateKind)
_OWNERS = word_set("his her their its")
_POINTERS = word_set("this that these those")
_HEADING = ("title", "section", "background")


@dataclass(frozen=True, slots=True)
class Form:
    """What a candidate's text alone tells."""

    singulars: tuple[str, ...]
    sex: float
    person: float
    is_date: bool
    is_plural: bool
    is_proper: bool
    classes: tuple[bool, ...]
    """Which of ``NOUN_CLASSES`` its head belongs to."""
    features: tuple[float, ...]

    @property
    def head(self) -> str:
        return self.singulars[-1]


@lru_cache(maxsize=8192)
def form_of(text: str, key: tuple[str, ...], kind: CandidateKind) -> Form:
    """The form of a candidate; remembered, since a conversation's candidates come again each turn."""
    candidate = Candidate(text=text, key=key, kind=kind)
    singulars = tuple(singular(word) for word in key)
    sex = gender(key) if text[0].isupper() or kind == "phrase" else 0.0
    said_as_date = kind == "date" or is_date(key)
    proper = is_proper(candidate)
    size, last = len(key), key[-1]
    plural = (last.endswith("s") and not last.endswith("ss")) or " and " in text
    plural = plural or not PLURAL_PEOPLE.isdisjoint(key)
    classes = tuple(singulars[-1] in nouns for nouns in NOUN_CLASSES)
    first_word = text.split()[0].lower()
    flags = [
        *(kind == each for each in _KINDS),
        text[0].isupper(),
        *(first_word in words for words in (ARTICLES, _OWNERS, _POINTERS)),
        *(size == count for count in (1, 2, 3)),
        size > 3,
        any(word[0].isdigit() for word in key),
        plural,
        proper,
        is_named_section(candidate),
        said_as_date,
        *classes,
        key[0].endswith("ing"),
        *(last.endswith(ending) for ending in ("ing", "ed", "ly")),
    ]
    return Form(
        singulars=singulars,
        sex=sex,
        person=is_person(candidate),
        is_date=said_as_date,
        is_plural=plural,
        is_proper=proper,
        classes=classes,
        features=(*(float(flag) for flag in flags), min(size, 20) / 10, sex, abs(sex)),
    )


class Looks:
    """What several features ask of a candidate, found once for a document."""

    def __init__(self, scene: Scene, candidate: Candidate) -> None:
        self.candidate = candidate
        self.form = form_of(candidate.text, candidate.key, candidate.kind)
        self.before = {singular(o.before) for o in candidate.occurrences}
        """Nouns that stand right before it: "album" in "the album Thriller"."""
        self.is_topic = set(candidate.key) <= set(scene.topic.key)
        self.person = self.form.person
        if self.is_topic:
            self.person = 1.0 if scene.topic_is_person else -1.0
        self.is_work = candidate.kind in ("quote", "name", "section") and self.person <= 0.3
        self.asked_last = any(
            o.place == "question" and o.turn == scene.last_turn for o in candidate.occurrences
        )
        self.was_known = self.asked_last or candidate.first.turn < scene.last_turn


def common(scene: Scene, looks: Sequence[Looks]) -> list[list[float]]:
    """What holds of each candidate for every mention."""
    context = scene.document.context()
    sentences = Sentences(scene.document, scene.question_words)
    names = Names(scene.candidates)
    newest = max(c.last.end for c in scene.candidates)
    newest_name = max(
        (c.last.end for c in scene.candidates if c.kind in ("name", "quote", "answer")), default=-1
    )
    rows = []
    for look in looks:
        candidate, last = look.candidate, look.candidate.last
        rows.append(
            [
                *look.form.features,
                *_relations(scene, look),
                *_history(scene, look),
                math.log1p(max(0, len(context) - last.end)) / 8,
                float(last.end == newest),
                float(last.end == newest_name),
                *sentences.around(last.start, set(candidate.key)),
                *names.salience(candidate),
                *role(context, candidate),
            ]
        )
    return rows


def _relations(scene: Scene, look: Looks) -> list[float]:
    """What the candidate shares with the topic, the question and the nouns before it."""
    key, topic = set(look.candidate.key), set(scene.topic.key)
    return [
        float(key < topic),
        float(key > topic),
        float(not key.isdisjoint(topic)),
        float(key == topic),
        len(key & scene.question_words) / len(key),
        float(key <= scene.question_words),
        look.person,
        *(float(not nouns.isdisjoint(look.before)) for nouns in (WORKS, GROUPS, PEOPLE_NOUNS, RELATIVES)),
    ]


def _history(scene: Scene, look: Looks) -> list[float]:
    """When, how often and by whom the candidate was said."""
    occurrences = look.candidate.occurrences
    first, last = occurrences[0], occurrences[-1]
    age = scene.last_turn - last.turn if last.turn >= 0 else -1
    in_questions = sum(o.place == "question" for o in occurrences)
    in_answers = sum(o.place == "answer" for o in occurrences)
    return [
        *(float(age == back) for back in (0, 1, 2)),
        float(age > 2),
        float(age < 0),
        float(last.place == "question"),
        float(last.place == "answer"),
        last.position,
        float(last.position == 0),
        float(first.turn == scene.last_turn),
        float(look.asked_last),
        float(any(o.place == "answer" and o.turn == scene.last_turn for o in occurrences)),
        math.log1p(len(occurrences)) / 2,
        math.log1p(in_questions) / 2,
        math.log1p(in_answers) / 2,
        *(float(first.place == place) for place in _HEADING),
        float(first.turn == 0 and first.place == "question"),
    ]


def fitting(
    scene: Scene, mention: Mention, looks: Sequence[Looks], gained: Sequence[float]
) -> list[list[float]]:
    """What holds of each candidate for *mention*; *gained* are the points the rules give it."""
    asked = mention.kind
    noun = singular(words(mention.text)[-1]) if asked in ("this-noun", "the-noun") else ""
    wanted = {"he": 1.0, "she": -1.0}.get(asked, 0.0)
    one, several, thing, happening = asked in ("he", "she"), asked == "they", asked == "it", asked == "this"
    wants = [noun in nouns for nouns in NOUN_CLASSES]
    wants_work, wants_group, wants_time = noun in WORKS, noun in GROUPS, noun in TIMES
    most, ranked = max(gained), sorted(-points for points in gained)
    turns = scene.document.turns
    continues = bool(turns) and any(m.kind == asked for m in find_mentions(turns[-1].question))
    is_named_before = mention.start in scene.named_in_question
    rows = []
    for look, points in zip(looks, gained, strict=True):
        kind, last = look.candidate.kind, look.candidate.last
        is_clause = kind == "clause"
        topic_thing = look.is_topic and not scene.topic_is_person
        person, no_person = max(0.0, look.person), max(0.0, -look.person)
        rows.append(
            [
                points / 4,
                float(points > 0),
                float(points > 0 and points == most),
                (points - most) / 4,
                1.0 / (1 + bisect_left(ranked, -points)),
                max(0.0, look.form.sex * wanted),
                max(0.0, -look.form.sex * wanted),
                one * person,
                one * no_person,
                float(one and look.form.is_proper),
                float(one and look.is_topic and scene.topic_is_person),
                thing * person,
                float(thing and look.is_work),
                float(thing and look.is_topic),
                float(thing and topic_thing),
                float(thing and look.form.is_plural),
                float(several and look.form.is_plural),
                float(several and topic_thing),
                several * (not look.form.is_plural) * person,
                float(happening and is_clause),
                float(happening and last.place == "answer" and last.turn == scene.last_turn),
                happening * person,
                float(is_clause and (one or several or thing)),
                float(is_clause and bool(noun)),
                float(continues and look.was_known),
                float(continues and look.asked_last),
                float(not continues and not look.was_known),
                float(noun == look.form.head),
                float(noun in look.form.singulars),
                float(bool(noun) and noun in look.before),
                *(float(want and has) for want, has in zip(wants, look.form.classes, strict=True)),
                float(wants_time and look.form.is_date),
                float(bool(noun) and not wants_time and look.form.is_date),
                float(wants_work and look.is_work),
                float(wants_work and kind == "quote"),
                float(wants_group and topic_thing),
                float(is_named_before),
            ]
        )
    return rows
