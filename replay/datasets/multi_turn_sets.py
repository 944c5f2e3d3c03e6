"""
Benchmarks of several turns: MTRAG and MTRAG-UN, of retrieval-augmented generation, and MT-Bench's questions.

- MTRAG (Katsis et al., 2025) and MTRAG-UN (Rosenthal et al., 2026) are in the format of
  https://github.com/IBM/mt-rag-benchmark: one task a line, with the conversation up to its question
  (``input``), passages for it (``contexts``) and reference answers (``targets``). A conversation's turns are
  tasks of their own, so it is made for ``ask: last``.
- MT-Bench (Zheng et al., 2023) is the ``question.jsonl`` of FastChat. Most questions have no reference
  answer; their turns are asked and left to a judge. FastChat's references are model answers to mathematics,
  reasoning and coding questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.datasets.chat_log import ChatLogParser, ParsedMessage
from replay.datasets.data_file import SourceLocation, decode
from replay.datasets.json_rows import has_only, lines, outline, rows_of_lines
from replay.datasets.reader import conversations

_ROLES = {"user": "user", "agent": "assistant"}


class _Utterance(msgspec.Struct):
    speaker: str
    text: str


class _Context(msgspec.Struct):
    document_id: str
    text: str
    title: str | None = None
    feedback: Any = None

    @property
    def is_relevant(self) -> bool:
        """Return whether an annotator said so; passages that were only retrieved have no such word."""
        match self.feedback:
            case {"relevant": dict(verdicts)}:
                return any(isinstance(one, dict) and one.get("value") == "yes" for one in verdicts.values())
        return False


class _Task(msgspec.Struct):
    conversation_id: str
    task_id: str
    input: list[_Utterance]
    contexts: list[_Context] = []
    targets: list[_Utterance] = []
    answerability: list[str] | None = None
    question_type: Any = msgspec.field(name="Question Type", default=None)
    multi_turn: Any = msgspec.field(name="Multi-Turn", default=None)


_DECODER = decoder_of(_Task)


@dataclass(frozen=True, slots=True, kw_only=True)
class MtragReader:
    """Reads MTRAG's tasks, one conversation each; what is said of the question is in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line is a task with passages."""
        keys = outline(head).get("", frozenset())
        is_task = {"conversation_id", "task_id"} <= keys and bool({"contexts", "Collection"} & keys)
        return is_task and "messages" not in keys

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line. Raises a ``DatasetError`` if the file can't be opened."""
        yield from conversations(((place, _task(line, place)) for place, line in lines(path)), _build_task)


def _task(line: bytes | DatasetError, place: SourceLocation) -> _Task | DatasetError:
    if isinstance(line, DatasetError):
        return line
    try:
        # The files have NaN, which is no JSON, where nothing is known; msgspec writes it as null.
        if b"NaN" in line:
            line = msgspec.json.encode(json.loads(line))
    except (ValueError, RecursionError):
        pass  # decoding says what is wrong
    try:
        return decode(_DECODER, line, place)
    except DatasetError as error:
        return error


def _build_task(task: _Task, place: SourceLocation) -> Conversation:
    story = ChatLogParser()
    for index, one in enumerate(task.input):
        if one.speaker not in _ROLES:
            raise place.error(
                f'"{one.speaker}" is not a speaker (allowed: user, agent)', f"input[{index}].speaker"
            )
        story.tell(_ROLES[one.speaker], ParsedMessage(texts=[one.text]), None)
    if not task.input or task.input[-1].speaker != "user":
        raise place.error("doesn't end with a question of the user", "input")
    named = {
        "conversation_id": task.conversation_id,
        "answerability": task.answerability,
        "question_type": task.question_type,
        "multi_turn": task.multi_turn,
    }
    told = story.conversation(task.task_id, {key: value for key, value in named.items() if value}, place)
    cannot = (CANNOT_ANSWER,) if "UNANSWERABLE" in (task.answerability or ()) else ()
    contexts = {context.document_id: context for context in task.contexts}
    last = replace(
        told.turns[-1],
        gold_answers=(*cannot, *(target.text for target in task.targets if target.text.strip())),
        gold_passages=tuple(id for id, context in contexts.items() if context.is_relevant),
    )
    return replace(
        told,
        turns=(*told.turns[:-1], last),
        passages=tuple(Passage(id=id, text=one.text, title=one.title or "") for id, one in contexts.items()),
    )


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
        yield from conversations(rows_of_lines(path, _MtBenchQuestion), _build_question)


def _build_question(row: _MtBenchQuestion, place: SourceLocation) -> Conversation:
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
