"""
CoQA (Reddy et al., 2019), in the format of its own JSON files.

Gold answers are the free-form ones: the recorded one first, then the additional annotators' in the
order of their keys. CoQA says "unknown" where QuAC says CANNOTANSWER; gold answers have the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.errors import DatasetError
from replay.datasets.json_outline import has_only, outline
from replay.datasets.json_rows import rows_of_list
from replay.datasets.place import SourceLocation
from replay.datasets.validation import conversations


class _CoqaQuestion(msgspec.Struct):
    input_text: str
    turn_id: int


class _CoqaAnswer(msgspec.Struct):
    input_text: str
    turn_id: int


class _Story(msgspec.Struct):
    id: str
    story: str
    questions: list[_CoqaQuestion]
    answers: list[_CoqaAnswer]
    additional_answers: dict[str, list[_CoqaAnswer]] = {}
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoqaReader:
    """Reads CoQA's ``{"data": [...]}``: one conversation a story. Spans (rationales) are left out."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item of ``data`` has a story and questions."""
        found = outline(head)
        return has_only(found.get(""), required={"data"}, optional={"version"}) and (
            {"id", "story", "questions"} <= found.get(".data[]", frozenset())
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a story. Raises a ``DatasetError`` if the file can't be read."""
        yield from conversations(rows_of_list(path, _Story, key="data"), _build)


def _build(row: _Story, place: SourceLocation) -> Conversation:
    recorded = {answer.turn_id: answer.input_text for answer in row.answers}
    others = [
        {answer.turn_id: answer.input_text for answer in answers}
        for _, answers in sorted(row.additional_answers.items(), key=lambda pair: (len(pair[0]), pair[0]))
    ]
    asked = [question.turn_id for question in row.questions]
    astray = [number for number in recorded if number not in asked]
    if astray:
        raise place.error(
            f"has an answer to turn {astray[0]}, which no question has as its turn_id", "answers"
        )
    turns = []
    for question in row.questions:
        # Additional annotators' answers are no history of their own: without a recorded answer, none.
        given = [answers.get(question.turn_id) for answers in (recorded, *others)]
        golds = tuple(_gold(text) for text in given if text and text.strip())
        if question.turn_id not in recorded:
            golds = ()
        turns.append(
            Turn(
                id=f"{row.id}#{question.turn_id}",
                question=question.input_text,
                gold_answers=golds,
                gold_passages=(row.id,) if golds and golds[0] != CANNOT_ANSWER else (),
            )
        )
    return Conversation(
        id=row.id,
        turns=tuple(turns),
        passages=(Passage(id=row.id, text=row.story),),
        metadata={"source": row.source} if row.source else {},
    )


def _gold(answer: str) -> str:
    return CANNOT_ANSWER if answer.strip().casefold() == "unknown" else answer
