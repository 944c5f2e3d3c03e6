"""
LongMemEval (Wu et al., 2025): one question after many recorded sessions of a user with an assistant.

The format is that of https://github.com/xiaowu0162/LongMemEval: a list of questions, each with its own
history (``haystack_sessions``). Its files have up to 2.7 GB, so that one question is held at a time. Made for
``ask: last``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from replay.core.conversation import CANNOT_ANSWER, Conversation, Turn
from replay.core.errors import DatasetError
from replay.core.message import Message, join_texts
from replay.datasets.chat_log_parser import ChatLogParser
from replay.datasets.chat_messages import ParsedMessage
from replay.datasets.json_outline import outline
from replay.datasets.json_rows import rows_of_stream
from replay.datasets.place import SourceLocation
from replay.datasets.timestamps import with_timestamps
from replay.datasets.validation import conversations

ABSTENTION = "abstention"
"""The kind of the questions whose ids end in ``_abs``: nothing in the history answers them."""
_ROLES = ("user", "assistant")


class _HaystackMessage(msgspec.Struct):
    role: str
    content: str
    has_answer: bool | None = None


class _HaystackQuestion(msgspec.Struct):
    question_id: str
    question_type: str
    question: str
    haystack_sessions: list[list[_HaystackMessage]]
    answer: Any = None
    question_date: str = ""
    haystack_dates: list[str] = []
    haystack_session_ids: list[str] = []
    answer_session_ids: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class LongMemEvalReader:
    """Reads LongMemEval, a conversation for each question: its history's sessions by date, then itself."""

    dates: bool = True
    """Each session begins with a system message that says its date, and so does the question."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first object has a question and a haystack."""
        found = outline(head)
        return any({"question_id", "haystack_sessions"} <= found.get(at, frozenset()) for at in ("[]", ""))

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a question. Raises a ``DatasetError`` if the file can't be read on."""
        yield from conversations(rows_of_stream(path, _HaystackQuestion), self._build)

    def _build(self, row: _HaystackQuestion, place: SourceLocation) -> Conversation:
        turns: list[Turn] = []
        begun: list[str | None] = []
        """When each turn's session began, of the first turn of each."""
        evidence: list[str] = []
        is_abstention = row.question_id.endswith("_abs")
        for name, session, date, said in _sessions(row, place):
            parts, answering = _turns(name, session, said, place)
            if parts:
                parts[0] = replace(parts[0], asked_with=self._date(date) + parts[0].asked_with)
            if name in row.answer_session_ids and not is_abstention:
                evidence += [parts[number].id for number in answering or (0,) if parts]
            turns += parts
            begun += [iso_time(date, "%Y/%m/%d (%a) %H:%M"), *[None] * len(parts)][: len(parts)]
        answers = () if row.answer is None else (str(row.answer),)
        turns.append(
            Turn(
                id=row.question_id,
                question=row.question,
                gold_answers=(CANNOT_ANSWER, *answers) if is_abstention else answers,
                asked_with=self._date(row.question_date),
                session=row.question_id,
                evidence=tuple(evidence),
                kind=ABSTENTION if is_abstention else row.question_type,
            )
        )
        begun.append(iso_time(row.question_date, "%Y/%m/%d (%a) %H:%M"))
        named = {"question_type": row.question_type, "question_date": row.question_date}
        return Conversation(
            id=row.question_id,
            turns=tuple(turns),
            metadata=with_timestamps(named, asked=begun, answered=(), place=place),
        )

    def _date(self, date: str) -> tuple[Message, ...]:
        return (Message(role="system", text=f"Date: {date}"),) if self.dates and date else ()


def _sessions(
    row: _HaystackQuestion, place: SourceLocation
) -> Iterator[tuple[str, str, str, Sequence[_HaystackMessage]]]:
    """
    Yield each session's id in the data, what it is called here, its date and its messages, by date.

    Raises:
        DatasetError: there are not as many dates or ids as sessions.
    """
    count = len(row.haystack_sessions)
    for name, given in (
        ("haystack_dates", row.haystack_dates),
        ("haystack_session_ids", row.haystack_session_ids),
    ):
        if len(given) not in (0, count):
            raise place.error(f"has {len(given)} entries for {count} sessions", name)
    ids = row.haystack_session_ids or [f"session {number}" for number in range(1, count + 1)]
    dates = row.haystack_dates or [""] * count
    seen: Counter[str] = Counter()
    # In the oracle's file they stand in no order; the authors' program sorts them by this text as well.
    for id, date, said in sorted(zip(ids, dates, row.haystack_sessions, strict=True), key=lambda one: one[1]):
        seen[id] += 1
        yield id, id if seen[id] == 1 else f"{id} ({seen[id]})", date, said


def _turns(
    name: str, session: str, said: Sequence[_HaystackMessage], place: SourceLocation
) -> tuple[list[Turn], list[int]]:
    """
    Return the turns of a session, and the positions of those that hold an answer.

    Raises:
        DatasetError: a message is of no user and of no assistant.
    """
    story, answering = ChatLogParser(), dict[int, None]()
    for one in said:
        if one.role not in _ROLES:
            raise place.error(f'"{one.role}" is not a role (allowed: user, assistant)', f'session "{name}"')
        if one.content.strip():
            story.tell(one.role, ParsedMessage(texts=[one.content]), None)
            if one.has_answer:
                answering[max(0, len(story.turns) - 1)] = None
    turns = [
        Turn(
            id=f"{session}#{number}",
            question=turn.question,
            # Nobody answered what a session ends with.
            gold_answers=(join_texts(turn.answers),),
            asked_with=turn.recorded_with,
            session=session,
        )
        for number, turn in enumerate(story.turns, 1)
    ]
    return turns, list(answering)


def iso_time(text: str, pattern: str) -> str | None:
    """Return the time that *text* tells in *pattern*, in ISO 8601; None where it tells none."""
    try:
        return datetime.strptime(text, pattern).isoformat()  # noqa: DTZ007 - the data name no time zone
    except ValueError:
        return None
