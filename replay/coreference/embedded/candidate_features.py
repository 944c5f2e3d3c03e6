"""
Features of candidates, for all of a document's at once: what they look like, how and when they were said.

Columns are numbers of about one's size. What depends on the utterance alone comes ready from ``pieces``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p
from typing import get_args

import numpy as np

from replay.coreference.embedded.candidates import Candidate
from replay.coreference.embedded.looks import CandidateKind, Matrix
from replay.coreference.embedded.pieces import STEM
from replay.coreference.embedded.scene import Scene

_KINDS: tuple[CandidateKind, ...] = get_args(CandidateKind)
_KIND_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_KIND_ROWS = np.eye(len(_KINDS), dtype=np.float32)
_NAMING = frozenset({"name", "quote", "answer"})


def candidate_rows(scene: Scene) -> tuple[Matrix, Matrix]:
    """One row of features for each candidate of *scene*; and the rows of ``looks`` beside them."""
    candidates, pieces = scene.candidates, scene.pieces
    looks = np.concatenate([p.looks for p in pieces])
    stands = np.concatenate([p.stands for p in pieces])
    rows: list[int] = []
    starts: list[int] = []
    for candidate in candidates:
        starts.append(len(rows))
        rows += candidate.rows
    last = [candidate.rows[-1] for candidate in candidates]
    counts = np.asarray([len(candidate.rows) for candidate in candidates], np.float32)
    own_looks = looks[[candidate.rows[0] for candidate in candidates]]
    table = np.concatenate(
        [
            _KIND_ROWS[[_KIND_NUMBERS[candidate.kind] for candidate in candidates]],
            own_looks,
            stands[last],
            np.add.reduceat(stands[rows], starts) / counts[:, None],
            np.asarray(_said(scene, last), np.float32),
        ],
        axis=1,
    )
    return table, own_looks


def _said(scene: Scene, last_rows: list[int]) -> list[tuple[float, ...]]:
    """When, how often and by whom each candidate was said, and what it shares with topic and question."""
    candidates, newest = scene.candidates, scene.last_turn
    length = len(scene.document.context())
    ends = [candidate.occurrences[-1].end for candidate in candidates]
    latest = max(ends)
    latest_name = max([e for e, c in zip(ends, candidates, strict=True) if c.kind in _NAMING], default=-1)
    topic, asked = scene.topic_words, scene.question_words
    stems = {word[:STEM] for word in asked}
    sentence_of: list[int] = []
    shared: list[int] = []
    for piece in scene.pieces:
        before = len(shared)
        sentence_of += [before + sentence for sentence in piece.sentence]
        shared += [len(stems & said) for said in piece.stems]
    salience = _salience(candidates)
    is_person = float(scene.topic_is_person)
    rows = []
    for index, candidate in enumerate(candidates):
        occurrences, key = candidate.occurrences, candidate.key
        first, last = occurrences[0], occurrences[-1]
        age = newest - last.turn if last.turn >= 0 else -1
        in_questions = in_answers = 0
        asked_last = answered_last = False
        for o in occurrences:
            if o.place == "question":
                in_questions += 1
                asked_last = asked_last or o.turn == newest
            elif o.place == "answer":
                in_answers += 1
                answered_last = answered_last or o.turn == newest
        size = len(key)
        in_topic = in_question = in_stems = 0
        for word in key:
            in_topic += word in topic
            in_question += word in asked
            in_stems += word[:STEM] in stems
        whole, part = in_topic == len(topic) > 0, in_topic == size
        sentence = sentence_of[last_rows[index]]
        end = ends[index]
        rows.append(
            (
                age == 0,
                age == 1,
                age == 2,
                age > 2,
                age < 0,
                last.place == "question",
                last.place == "answer",
                first.turn == newest,
                asked_last,
                answered_last,
                first.place == "title",
                first.place == "section",
                first.place == "background",
                first.turn == 0 and first.place == "question",
                end == latest,
                end == latest_name,
                log1p(length - end) / 8,
                log1p(in_questions + in_answers) / 2,
                log1p(in_questions) / 2,
                log1p(in_answers) / 2,
                part and not whole,
                whole and not part,
                in_topic > 0,
                part and whole,
                in_question / size,
                in_question == size,
                is_person if part else 0.0,
                *salience[index],
                max(0, shared[sentence] - in_stems) / (len(stems) or 1),
                1.0 / (len(shared) - sentence),
            )
        )
    return rows


def _salience(candidates: Sequence[Candidate]) -> list[tuple[float, ...]]:
    """How much is said of each candidate; "Zappa" counts for "Frank Zappa", and the other way round."""
    by_word: dict[str, list[Candidate]] = {}
    counts = []
    for candidate in candidates:
        if candidate.kind in ("title", "name"):
            counts.append(len(candidate.occurrences))
            for word in candidate.key:
                by_word.setdefault(word, []).append(candidate)
    rows: list[tuple[float, ...]] = []
    for candidate in candidates:
        said = len(candidate.occurrences)
        fuller = shorter = 0
        key = candidate.key
        kin = [name for word in key if word in by_word for name in by_word[word] if name is not candidate]
        if kin:
            words = set(key)
            for name in {id(name): name for name in kin}.values():
                if len(name.key) > len(words):
                    fuller += len(name.occurrences) if words.issubset(name.key) else 0
                elif len(name.key) < len(words):
                    shorter += len(name.occurrences) if words.issuperset(name.key) else 0
            said += fuller + shorter
        more = sum([count > said for count in counts])
        rows.append((log1p(said) / 2, fuller > 0, shorter > 0, 1.0 / (1 + more)))
    return rows
