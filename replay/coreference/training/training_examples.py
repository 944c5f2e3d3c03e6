"""
What the learned resolver is taught: examples in several dresses, and how right each candidate is.

An example is shown as recorded, and once more with less to go on (no title, the title in a sentence of
the background only, the last two turns alone), so that the resolver doesn't lean on what a data set
happens to give. Data sets also teach that "she" is the article's subject whatever its name; questions
with the other pronoun put in teach that a man's name isn't meant by "she".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from replay.coreference.embedded.candidates import Candidate, split_title
from replay.coreference.embedded.features import Described, describe
from replay.coreference.embedded.lexicon import gender
from replay.coreference.embedded.scene import Scene, look_at
from replay.coreference.mentions import find_mentions
from replay.coreference.resolver import Document
from replay.coreference.training.annotated_questions import Example
from replay.coreference.training.dialogues import JudgedTurn
from replay.coreference.training.fit_networks import TrainingExample, Vector32
from replay.coreference.training.human_readings import RightReading, right_readings
from replay.coreference.words import word_f1, words

_LEAST_F1 = 0.34
_CLAUSE_RECALL = 0.6
_CLAUSE_WORTH = 0.4
_PART_WORTH = 0.05
_TOO_MUCH_WORTH = 0.3
_SMALLEST_SHARE = 0.3
"""Candidates worth less than this share of the best one count as wrong."""
_VARIANT_WEIGHT = 0.5
_OTHER_PRONOUN_WEIGHT = 0.2
_OTHER_PRONOUN = {
    "he": "she", "him": "her", "his": "her", "himself": "herself",
    "she": "he", "her": "his", "hers": "his", "herself": "himself",
}  # fmt: skip
_NAMING = ("title", "name", "answer")
_SURE_OF_SEX = 0.7


def training_examples(examples: Sequence[Example]) -> list[TrainingExample]:
    """One for each document with a mention whose reading is known and among the candidates, in each dress."""
    found = []
    for example in examples:
        for document, weight in dresses(example):
            scene = look_at(document)
            if scene.candidates:
                rights = right_readings(document.question, example.rewrite, scene.mentions)
                worth = [_worth(scene.candidates, right, example.rewrite) for right in rights]
                found.append(_training_example(scene, worth, weight))
        found += _with_other_pronouns(example.document)
    return [example for example in found if example.right.any()]


def judged_examples(turns: Sequence[JudgedTurn]) -> list[TrainingExample]:
    """One for each judged question of a dialogue that tells what one of its mentions means."""
    found = []
    for turn in turns:
        scene = look_at(turn.gold)
        if scene.candidates:
            rights = turn.readings(scene.mentions)
            said = " ".join((turn.gold.question, *turn.names))
            found.append(_training_example(scene, [_worth(scene.candidates, r, said) for r in rights], 1.0))
    return [example for example in found if example.right.any()]


def _training_example(scene: Scene, worth: Sequence[Vector32 | None], weight: float) -> TrainingExample:
    unknown = np.zeros(len(scene.candidates) + 1, np.float32)
    table = np.stack([unknown if one is None else one * weight for one in worth])
    described = describe(scene)
    return TrainingExample(
        # Half the precision is enough to learn from, and half the memory.
        Described(
            *(getattr(described, name).astype(np.float16) for name in ("mentions", "candidates", "fits"))
        ),
        table,
    )


def _with_other_pronouns(document: Document) -> Iterator[TrainingExample]:
    """
    The question with "she" for "he", or the other way round, one mention at a time.

    Only where some candidates' names fit the other pronoun and some fit the one that stood there.
    """
    question = document.question
    for mention in find_mentions(question):
        other = _OTHER_PRONOUN.get(mention.text.lower())
        if other is None:
            continue
        scene = look_at(
            replace(document, question=question[: mention.start] + other + question[mention.end :])
        )
        worth: list[Vector32 | None] = [None] * len(scene.mentions)
        for number, read in enumerate(scene.mentions):
            if read.start != mention.start or read.kind == mention.kind or not scene.candidates:
                continue
            wanted = 1 if read.kind == "he" else -1
            sexes = [gender(c.key) * wanted if c.kind in _NAMING else 0.0 for c in scene.candidates]
            right = np.asarray([0.0, *(float(sex >= _SURE_OF_SEX) for sex in sexes)], np.float32)
            if right.any() and min(sexes) <= -_SURE_OF_SEX:
                worth[number] = right / right.sum()
        if any(one is not None for one in worth):
            yield _training_example(scene, worth, _OTHER_PRONOUN_WEIGHT)


def dresses(example: Example) -> Iterator[tuple[Document, float]]:
    """The example's document and other forms of it, each with its weight."""
    document = example.document
    yield document, 1.0
    title = split_title(document.title)[0]
    short = replace(document, turns=document.turns[-2:])
    if title:
        # Every third has its title in a sentence, the same ones every time.
        said = f"{title} is the topic. {document.section}".strip() if len(document.question) % 3 == 0 else ""
        background = f"{said}. {document.background}".strip() if said else document.background
        yield replace(short, title="", section="", background=background), _VARIANT_WEIGHT
    if len(document.turns) > 2 and len(document.question) % 2:
        yield short, _VARIANT_WEIGHT


def _worth(candidates: Sequence[Candidate], right: RightReading, rewrite: str) -> Vector32 | None:
    """How right leaving alone and each candidate are, sum 1; None where nothing can be said."""
    worth = np.zeros(len(candidates) + 1, np.float32)
    if right.status == "left":
        worth[0] = 1.0
        return worth
    if right.status == "undecided":
        return None
    meant, said = set(right.words), set(words(rewrite))
    for index, candidate in enumerate(candidates, 1):
        key = set(candidate.key)
        if candidate.kind == "clause":
            recall = len(meant & key) / len(meant)
            worth[index] = _CLAUSE_WORTH * recall if recall >= _CLAUSE_RECALL else 0.0
            continue
        overlap = word_f1(candidate.key, right.words)
        if key <= said and key & meant:
            worth[index] = _PART_WORTH + (1 - _PART_WORTH) * overlap**2
        elif overlap >= _LEAST_F1:
            worth[index] = _TOO_MUCH_WORTH * overlap**2
    worth[worth < _SMALLEST_SHARE * worth.max()] = 0.0
    total = worth.sum()
    return worth / total if total else None
