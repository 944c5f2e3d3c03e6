"""
Dialogues with a second, partly wrong set of answers, and people's word on what that does to each question.

The format is that of ``benchmarks/history-drift`` (see its README); ``tests/coreference/dialogues`` holds
older ones without standalone questions and spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from replay.core.decoding import decode_as
from replay.core.errors import DatasetError
from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document

WINDOW = 6


class _DialogueTurn(msgspec.Struct):
    question: str
    gold_answer: str
    own_answer: str
    means_the_same: bool | None
    rewrite_names: list[str] | None
    refers_by: str | None
    standalone: str | None = None
    leans_on: list[str] = []
    leans_on_own: list[str] = []


class _Dialogue(msgspec.Struct):
    id: str
    turns: list[_DialogueTurn]
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedTurn:
    """One question after the recorded and after the other answers."""

    dialog: str
    held_out: bool
    """Whether its dialogue stands at an odd position of its file."""
    kind: str
    gold: Document
    own: Document
    same: bool | None
    """Whether it means the same; None where people disagree."""
    names: tuple[str, ...]
    """A right rewrite contains one of them; empty where the question means the same."""
    refers_by: str
    standalone: str | None
    leans_on: tuple[str, ...]
    """What it leans on in the recorded history, to the letter."""
    leans_on_own: tuple[str, ...]


def read_dialogues(paths: Sequence[Path]) -> list[AnnotatedTurn]:
    """
    Return the questions of all files but each dialogue's first.

    Raises:
        DatasetError: A file isn't in the format.
    """
    found = []
    for path in paths:
        try:
            dialogues = decode_as(path.read_bytes(), list[_Dialogue])
        except (OSError, msgspec.MsgspecError) as error:
            raise DatasetError(str(error), path=str(path)) from error
        for position, dialogue in enumerate(dialogues):
            for number, turn in enumerate(dialogue.turns):
                if number == 0:
                    continue
                before = dialogue.turns[max(0, number - WINDOW) : number]
                found.append(
                    AnnotatedTurn(
                        dialog=dialogue.id,
                        held_out=position % 2 == 1,
                        kind=dialogue.kind,
                        gold=_document(turn, [(t.question, t.gold_answer) for t in before]),
                        own=_document(turn, [(t.question, t.own_answer) for t in before]),
                        same=turn.means_the_same,
                        names=tuple(turn.rewrite_names or ()),
                        refers_by=turn.refers_by or "",
                        standalone=turn.standalone,
                        leans_on=tuple(turn.leans_on),
                        leans_on_own=tuple(turn.leans_on_own),
                    )
                )
    return found


def _document(turn: _DialogueTurn, before: Sequence[tuple[str, str]]) -> Document:
    return Document(question=turn.question, turns=tuple(Exchange(question=q, answer=a) for q, a in before))
