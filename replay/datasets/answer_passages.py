"""
Passages made of gold answers, for data sets that have none.

A dialog's own answers are mixed with answers of other dialogs, so that a system has something to
find and something to get wrong. Which ones, and their order, depends only on the dialogs in the file
and the dialog's id: ``random()`` of a generator seeded with a SHA-256 gives the same numbers in every
Python version, ``sample()`` and ``shuffle()`` need not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from random import Random

from msgspec.structs import replace

from replay.core.conversation import CANNOT_ANSWER, Passage, Turn
from replay.datasets.place import SourceLocation


class AnswerPassages:
    """The answers of all dialogs, by dialog id, to make passages of."""

    def __init__(self, dialogs: Mapping[str, Sequence[Turn]], *, distractors: int) -> None:
        self._dialogs = dialogs
        self._distractors = distractors
        self._pool = [
            Passage(id=turn.id, text=turn.gold_answers[0])
            for turns in dialogs.values()
            for turn in turns
            if _has_answer(turn)
        ]

    def of(self, dialog: str, place: SourceLocation) -> tuple[tuple[Turn, ...], tuple[Passage, ...]]:
        """
        Return the turns of *dialog*, naming their gold passages, and the passages.

        An answer that is given twice is one passage, named after the first turn.

        Raises:
            DatasetError: the other dialogs have too few different answers.
        """
        own: dict[str, Passage] = {}
        turns = []
        for turn in self._dialogs[dialog]:
            if _has_answer(turn):
                passage = Passage(id=turn.id, text=turn.gold_answers[0])
                turn = replace(turn, gold_passages=(own.setdefault(_same(passage.text), passage).id,))
            turns.append(turn)
        # Seeded per dialog, so that a dialog's passages don't depend on which were asked for before.
        rng = Random(int.from_bytes(hashlib.sha256(dialog.encode()).digest()[:8], "big"))
        passages = [*own.values(), *self._others(own, rng, place)]
        return tuple(turns), tuple(sorted(passages, key=lambda _: rng.random()))

    def _others(self, own: Mapping[str, Passage], rng: Random, place: SourceLocation) -> list[Passage]:
        chosen: dict[str, Passage] = {}
        tried: set[int] = set()
        while len(chosen) < self._distractors:
            if len(tried) == len(self._pool):
                raise place.error(
                    f"found {len(chosen)} different answers in the other dialogs of the file, "
                    f"expected {self._distractors}; lower the setting",
                    "distractors",
                )
            index = int(rng.random() * len(self._pool))
            tried.add(index)
            passage = self._pool[index]
            if _same(passage.text) not in own:
                chosen.setdefault(_same(passage.text), passage)
        return list(chosen.values())


def _has_answer(turn: Turn) -> bool:
    return turn.gold_answer is not None and turn.gold_answer != CANNOT_ANSWER


def _same(text: str) -> str:
    """Return *text* in lower case with single spaces, the same for texts that read the same."""
    return " ".join(text.casefold().split())
