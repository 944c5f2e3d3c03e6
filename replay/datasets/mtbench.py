"""
MT-Bench questions (Zheng et al., 2023): the ``question.jsonl`` of FastChat.

Most questions have no reference answer; their turns are asked and left to a judge. FastChat's
references are model answers to mathematics, reasoning and coding questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.datasets.json_rows import has_only, outline, rows_of_lines
from replay.datasets.reader import conversations


class _MtBenchQuestion(msgspec.Struct):
    question_id: int | str
    turns: list[str]
    category: str = ""
    reference: list[str | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MtBenchReader:
    """Reads MT-Bench's question file; the category is in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has MT-Bench's fields and no others."""
        return has_only(
            outline(head).get(""), required={"question_id", "category", "turns"}, optional={"reference"}
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line. Raises a ``DatasetError`` if the file can't be opened."""
        yield from conversations(rows_of_lines(path, _MtBenchQuestion), _build)


def _build(row: _MtBenchQuestion, place: SourceLocation) -> Conversation:
    references = row.reference or []
    if len(references) > len(row.turns):
        raise place.error(f"has {len(references)} answers to {len(row.turns)} turns", "reference")
    name = str(row.question_id)
    turns = []
    for index, question in enumerate(row.turns):
        reference = references[index] if index < len(references) else None
        golds = (reference,) if reference and reference.strip() else ()
        turns.append(Turn(id=f"{name}#{index + 1}", question=question, gold_answers=golds))
    return Conversation(
        id=name, turns=tuple(turns), metadata={"category": row.category} if row.category else {}
    )
