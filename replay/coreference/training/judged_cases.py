"""
Cases for the two learned judgements, from readings of networks that did not learn from the example.

Of the drift verdict: histories with wrong and merely different answers (``corrupted``), made-up turns and
dialogues. Of edits: what each reading would change in its question, and whether the question's words
then come closer to the human rewrite (word F1), or name what people say a right rewrite names.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from replay.core.drift_evidence import Reading
from replay.coreference.edit_evidence import edit_evidence
from replay.coreference.embedded.looks import Matrix
from replay.coreference.resolver import Document
from replay.coreference.rewriting import proposals
from replay.coreference.training.annotated_questions import Example
from replay.coreference.training.corrupted import WRONG, corrupted
from replay.coreference.training.dialogues import JudgedTurn
from replay.coreference.training.fit_judgement import Case
from replay.coreference.training.made_up import MadeUp
from replay.coreference.verdict_evidence import differences, evidence
from replay.coreference.words import word_f1, words

Read = Callable[[Document], tuple[Reading, ...]]
_WINDOW = 2
_SHORT_SHARE = 0.4
"""So many documents are shown with the last ``_WINDOW`` turns only."""
_OTHER_WAYS = 0.6


@dataclass(frozen=True, slots=True)
class Found:
    """A case and where it comes from."""

    case: Case
    source: str
    fold: int
    benchmark: bool = False
    """Whether it is of the kind that ``benchmarks/drift.py`` measures."""


def drift_cases(examples: Sequence[Example], read: Read, seed: int) -> Iterator[Found]:
    """The questions of *examples* after corrupted histories."""
    rng = random.Random(seed)
    for one in corrupted(examples, seed=seed, harmless=True):
        if one.way not in WRONG and rng.random() > _OTHER_WAYS:
            continue
        gold, own = one.example.document, one.document
        if rng.random() < _SHORT_SHARE:
            gold, own = (replace(d, turns=d.turns[-_WINDOW:]) for d in (gold, own))
        case = _drift_case(gold, own, bool(one.lost), read)
        if case is not None:
            yield Found(case, one.example.source, one.example.fold, one.way in WRONG)


def made_up_cases(turns: Iterable[MadeUp], read: Read) -> Iterator[Found]:
    for turn in turns:
        case = _drift_case(turn.example.document, turn.own, not turn.same, read)
        if case is not None:
            yield Found(case, "made up", turn.example.fold)


def dialogue_cases(turns: Iterable[JudgedTurn], read: Read) -> Iterator[Found]:
    for turn in turns:
        case = _drift_case(turn.gold, turn.own, not turn.same, read)
        if case is not None:
            yield Found(case, "dialogues", turn.fold)


def _drift_case(gold: Document, own: Document, changed: bool, read: Read) -> Case | None:
    if gold == own:
        return None  # valid by law
    found = differences(read(gold), read(own), gold, own)
    if not found:
        return None
    return Case(np.asarray(evidence(found, gold, own), np.float32), changed, 1.0)


def edit_cases(examples: Sequence[Example], read: Read, seed: int) -> Iterator[Found]:
    """What the readings of *examples* would change, and whether it is for the better."""
    rng = random.Random(seed)
    for example in examples:
        document = example.document
        if rng.random() < _SHORT_SHARE:
            document = replace(document, turns=document.turns[-_WINDOW:])
        for rows, edited in _edits(document, read):
            before, after = (word_f1(words(q), words(example.rewrite)) for q in (document.question, edited))
            yield Found(Case(rows, after > before + 1e-9, 1.0), example.source, example.fold, benchmark=True)


def dialogue_edit_cases(turns: Iterable[JudgedTurn], read: Read) -> Iterator[Found]:
    """The same of dialogues, where it is known what a right rewrite names or that none is needed."""
    for turn in turns:
        if turn.names or turn.refers_by == "nothing":
            for rows, edited in _edits(turn.gold, read):
                named = any(name.lower() in edited.lower() for name in turn.names)
                yield Found(Case(rows, named, 1.0), "dialogues", turn.fold)


def _edits(document: Document, read: Read) -> Iterator[tuple[Matrix, str]]:
    """For each edit that is thought of its numbers, and the question with it."""
    question = document.question
    for reading in read(document):
        for one, edit in proposals(question, reading):
            rows = np.asarray([edit_evidence(question, one, edit.put)], np.float32)
            yield rows, f"{question[: edit.start]}{edit.put}{question[edit.end :]}"
