"""
What the learned resolver sees of a mention, and of each candidate beside it, as numbers.

One row describes each mention in its question and scene; one row each candidate, whatever the mention;
and one row how a candidate fits a mention. Imports numpy, so that it is imported only when a resolver
first reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replay.coreference.embedded.asked import KINDS, Seen, asked
from replay.coreference.embedded.candidate_features import candidate_rows
from replay.coreference.embedded.layout import holds_answer
from replay.coreference.embedded.lexicon import GROUPS, NOUN_CLASSES, TIMES, WORKS
from replay.coreference.embedded.looks import CLASSES, DATE, PERSON, PLURAL, PROPER, SEX, VECTOR, Matrix
from replay.coreference.embedded.scene import Scene
from replay.coreference.words import singular, words


@dataclass(frozen=True, slots=True)
class Described:
    """A scene in numbers."""

    mentions: Matrix
    """(mentions, A). The first columns are the mention's kind."""
    candidates: Matrix
    """(candidates, S)."""
    fits: Matrix
    """(mentions, candidates, F)."""


def describe(scene: Scene) -> Described:
    """*scene* in numbers; it has at least one candidate."""
    rows, looks = candidate_rows(scene)
    question = scene.asked
    meanings = looks[:, VECTOR]
    likeness = meanings @ question.meanings.T
    rows = np.concatenate([rows, likeness[:, 1:].max(axis=1, keepdims=True), likeness[:, :1]], axis=1)
    setting = np.asarray(_setting(scene), np.float32)
    about = np.concatenate([setting, question.row])
    mentions = np.concatenate(
        [question.standing, np.broadcast_to(about, (len(question.standing), len(about)))], axis=1
    )
    return Described(mentions, rows, _fits(scene, looks))


def _setting(scene: Scene) -> list[float]:
    """The scene, as every mention of the question finds it."""
    document, turns = scene.document, scene.document.turns
    count = len(turns) + 1
    kinds_before = asked(turns[-1].question).kinds if turns else frozenset()
    answer = turns[-1].answer.strip() if turns else ""
    note = [singular(word) for word in words(scene.topic.note)]
    topic = scene.topic
    topic_end = topic.key[-1] if topic.key else ""
    flags = (
        *(kind in kinds_before for kind in KINDS[:5]),
        scene.topic_is_person,
        scene.topic_gender > 0,
        scene.topic_gender < 0,
        bool(note),
        *(not nouns.isdisjoint(note) for nouns in (WORKS, GROUPS)),
        topic.text.lower().startswith("the "),
        len(topic.key) == 1,
        len(topic.key) in (2, 3),
        topic_end.endswith("s"),
        bool(document.title),
        bool(document.section),
        bool(document.background),
        bool(turns) and not holds_answer(answer),
        answer.endswith("?"),
        any(c.kind == "list" for c in scene.candidates),
        not turns,
    )
    return [
        *(said / count for said in scene.said_before.values()),
        *map(float, flags),
        float(np.log1p(len(turns))) / 2,
        float(np.log1p(len(answer))) / 8,
    ]


def _fits(scene: Scene, looks: Matrix) -> Matrix:
    """How each candidate fits each mention: (mentions, candidates, F)."""
    seen, newest, candidates = scene.asked.seen, scene.last_turn, scene.candidates
    place = np.zeros((3, len(candidates)), np.float32)
    for index, candidate in enumerate(candidates):
        just_asked = any(o.place == "question" and o.turn == newest for o in candidate.occurrences)
        place[0, index] = just_asked
        place[1, index] = just_asked or candidate.occurrences[0].turn < newest
        place[2, index] = scene.topic_words.issuperset(candidate.key)
    asked_last, known, topic = place
    plural = looks[:, PLURAL]
    person = np.where(topic > 0, 1.0 if scene.topic_is_person else -1.0, looks[:, PERSON])
    likeness = looks[:, VECTOR] @ scene.asked.around
    kinds_before = asked(scene.document.turns[-1].question).kinds if scene.document.turns else ()
    fits = np.zeros((len(seen), len(candidates), FITS), np.float32)
    for number, (mention, one) in enumerate(zip(scene.mentions, seen, strict=True)):
        columns = fits[number].T
        kind = mention.kind
        if one.wanted_sex:
            sex = looks[:, SEX] * one.wanted_sex
            columns[0] = np.maximum(sex, 0)
            columns[1] = np.maximum(-sex, 0)
            columns[2] = person
            columns[3] = looks[:, PROPER]
            columns[4] = topic * scene.topic_is_person
            columns[16] = mention.start in scene.named_in_question
        elif kind == "it":
            columns[5] = person
            columns[6] = topic
            columns[7] = plural
        elif kind == "they":
            columns[8] = plural
            columns[9] = person
            columns[10] = topic
        elif kind == "this":
            columns[11] = person
        if kind in kinds_before:
            columns[12] = known
            columns[13] = asked_last
        else:
            columns[14] = 1 - known
        columns[15] = likeness[:, number]
        if one.noun:
            _fit_noun(scene, one, looks, columns)
        if one.order:
            _fit_order(scene, one.order, columns[24])
    return fits


def _fit_noun(scene: Scene, seen: Seen, looks: Matrix, columns: Matrix) -> None:
    noun = seen.noun
    time = noun in TIMES
    for index, candidate in enumerate(scene.candidates):
        singulars = [singular(word) for word in candidate.key]
        columns[17, index] = singulars[-1] == noun
        columns[18, index] = noun in singulars
        columns[19, index] = any(singular(o.before) == noun for o in candidate.occurrences)
        columns[20, index] = seen.words.issubset(singulars)
    columns[21] = looks[:, CLASSES] @ np.asarray([noun in nouns for nouns in NOUN_CLASSES], np.float32)
    columns[22 if time else 23] = looks[:, DATE]


def _fit_order(scene: Scene, order: int, column: Matrix) -> None:
    """Which candidates are the *order*-th of a list that was said."""
    orders = [places for piece in scene.pieces for places in piece.order]
    for index, candidate in enumerate(scene.candidates):
        column[index] = order in orders[candidate.rows[-1]]


FITS = 25
