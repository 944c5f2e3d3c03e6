"""
Dialogues with a second, partly wrong set of answers, and people's word on what that does to each question.

The format is that of ``tests/coreference/dialogues`` (see its README).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from replay.core.decoding import decoded
from replay.core.drift_evidence import Mention
from replay.core.errors import DatasetError
from replay.core.history import Exchange
from replay.coreference.resolver import Document
from replay.coreference.training.annotated_questions import fold_of
from replay.coreference.training.human_readings import RightReading
from replay.coreference.words import content_words

WINDOW = 2

_REFERRING = {
    "pronoun": ("he", "she", "they", "it"),
    "demonstrative": ("this", "this-noun"),
    "definite": ("the-noun",),
    "ordinal": ("one", "they", "it", "this-noun", "the-noun"),
    "there/then": ("there", "then", "this-noun"),
    "ellipsis": ("ellipsis",),
}


class _Turn(msgspec.Struct):
    question: str
    gold_answer: str
    own_answer: str
    means_the_same: bool | None
    rewrite_names: list[str] | None
    refers_by: str | None


class _Dialogue(msgspec.Struct):
    id: str
    turns: list[_Turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTurn:
    """One question after the recorded and after the other answers."""

    dialog: str
    held_out: bool
    """Whether its dialogue stands at an odd position of its file: such ones are never trained on."""
    gold: Document
    own: Document
    same: bool
    names: tuple[str, ...]
    """A right rewrite contains one of them; empty where the question means the same."""
    refers_by: str

    @property
    def fold(self) -> int:
        """The fold that its dialogue belongs to, the same in every process."""
        return fold_of(self.dialog)

    def readings(self, mentions: Sequence[Mention]) -> list[RightReading]:
        """What is known of the *mentions* of the question in the gold history."""
        unknown = RightReading(status="undecided")
        if self.refers_by == "nothing":
            return [RightReading(status="left")] * len(mentions)
        readings = [unknown] * len(mentions)
        kinds = _REFERRING.get(self.refers_by, ())
        place = next((i for i, mention in enumerate(mentions) if mention.kind in kinds), None)
        if self.names and place is not None:
            said = tuple(dict.fromkeys(word for name in self.names for word in content_words(name)))
            readings[place] = RightReading(status="resolved", words=said)
            if kinds != ("ellipsis",):
                readings[-1] = RightReading(status="left")
        return readings


def read_dialogues(paths: Sequence[Path]) -> list[JudgedTurn]:
    """
    The judged questions of all files.

    Raises:
        DatasetError: a file isn't in the format.
    """
    found = []
    for path in paths:
        try:
            dialogues = decoded(path.read_bytes(), list[_Dialogue])
        except (OSError, msgspec.MsgspecError) as error:
            raise DatasetError(str(error), path=str(path)) from error
        for position, dialogue in enumerate(dialogues):
            for number, turn in enumerate(dialogue.turns):
                if turn.means_the_same is not None:
                    before = dialogue.turns[max(0, number - WINDOW) : number]
                    found.append(
                        JudgedTurn(
                            dialog=dialogue.id,
                            held_out=position % 2 == 1,
                            gold=_document(turn, [(t.question, t.gold_answer) for t in before]),
                            own=_document(turn, [(t.question, t.own_answer) for t in before]),
                            same=turn.means_the_same,
                            names=tuple(turn.rewrite_names or ()),
                            refers_by=turn.refers_by or "",
                        )
                    )
    return found


def _document(turn: _Turn, before: Sequence[tuple[str, str]]) -> Document:
    return Document(question=turn.question, turns=tuple(Exchange(question=q, answer=a) for q, a in before))
