"""
Questions about long histories, LongMemEval and LoCoMo.

LongMemEval (Wu et al., 2025): one question after many recorded sessions of a user with an assistant.

The format is that of https://github.com/xiaowu0162/LongMemEval: a list of questions, each with its own
history (``haystack_sessions``). Its files have up to 2.7 GB, so that one question is held at a time. Made for
``ask: last``.

LoCoMo (Maharana et al., 2024): questions about two people's chats over months.

The format is that of ``locomo10.json`` in https://github.com/snap-research/locomo: a list of dialogues, each
with its sessions and its questions. A conversation is the whole dialogue and one question, so that no
question leans on another; made for ``ask: last``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from replay.core.conversation import CANNOT_ANSWER, Conversation, Turn
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.core.message import Message, join_texts
from replay.datasets.chat_log import ChatLogParser, ParsedMessage
from replay.datasets.data_file import SourceLocation, decode
from replay.datasets.json_rows import outline, rows_of_list, rows_of_stream
from replay.datasets.reader import conversations
from replay.datasets.turn_metadata import with_timestamps

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


KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ABSTENTION}
"""The categories in the paper's words; the fifth, its adversarial ones, asks what nobody said."""
_SESSION = re.compile(r"session_(\d+)")
# Also as the file misspells some: "D8:6; D9:17", "D:11:26", "D30:05".
_PLACE = re.compile(r"D:?0*(\d+):0*(\d+)")


class _ChatLine(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _LocomoQuestion(msgspec.Struct):
    question: str
    category: int
    evidence: list[str] = []
    answer: Any = None
    adversarial_answer: Any = None


class _LocomoSample(msgspec.Struct):
    sample_id: str
    conversation: dict[str, msgspec.Raw]
    qa: list[_LocomoQuestion]


class _SessionTurns(NamedTuple):
    """A sample's sessions as turns."""

    id: str
    turns: tuple[Turn, ...]
    begun: list[str | None]
    """When each turn's session began, of the first turn of each."""
    turn_of: Mapping[str, str]
    """The id of the turn in which a line is, by the line's own."""


_LINES = decoder_of(list[_ChatLine])
_TEXT = decoder_of(str)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoReader:
    """
    Reads LoCoMo. Who speaks first in a session is its user; lines begin with the speaker's name, and pictures
    are there by their captions.
    """

    dates: bool = True
    """Each session begins with a system message that says its date."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first object has questions with evidence, or a conversation of two speakers."""
        found = outline(head)
        asked, told = (found.get(f"[].{name}", frozenset()) for name in ("qa[]", "conversation"))
        return {"question", "evidence", "category"} <= asked or {"speaker_a", "speaker_b"} <= told

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a question. Raises a ``DatasetError`` if the file can't be read."""
        yield from conversations(self._questions(path), _build)

    def _questions(
        self, path: Path
    ) -> Iterator[tuple[SourceLocation, tuple[_SessionTurns, int, _LocomoQuestion] | DatasetError]]:
        for place, sample in rows_of_list(path, _LocomoSample):
            if isinstance(sample, DatasetError):
                yield place, sample
                continue
            try:
                dialogue = self._dialogue(sample, place)
            except DatasetError as error:
                yield place, error
                continue
            for number, question in enumerate(sample.qa, 1):
                yield place, (dialogue, number, question)

    def _dialogue(self, sample: _LocomoSample, place: SourceLocation) -> _SessionTurns:
        turns: list[Turn] = []
        begun: list[str | None] = []
        turn_of: dict[str, str] = {}
        numbers = [int(found[1]) for name in sample.conversation if (found := _SESSION.fullmatch(name))]
        for session in (f"session_{number}" for number in sorted(numbers)):
            lines = decode(_LINES, sample.conversation[session], place, f"conversation.{session}")
            at = f"{session}_date_time"
            given = sample.conversation.get(at)
            date = decode(_TEXT, given, place, f"conversation.{at}") if given else ""
            told = (Message(role="system", text=f"Date: {date}"),) if self.dates and date else ()
            for number, (said, answer) in enumerate(_pairs(lines)):
                turn_of |= dict.fromkeys((line.dia_id for line in (*said, *answer)), said[0].dia_id)
                begun.append(None if number else iso_time(date, "%I:%M %p on %d %B, %Y"))
                turns.append(
                    Turn(
                        id=said[0].dia_id,
                        question=_text_of_lines(said),
                        # Nobody answered what a session ends with.
                        gold_answers=(_text_of_lines(answer),),
                        asked_with=() if number else told,
                        session=session,
                    )
                )
        return _SessionTurns(sample.sample_id, tuple(turns), begun, turn_of)


def _pairs(lines: Sequence[_ChatLine]) -> Iterator[tuple[list[_ChatLine], list[_ChatLine]]]:
    """Yield what one says and what the other answers, which is nothing at the end perhaps."""
    runs = [list(run) for _, run in groupby(lines, lambda line: line.speaker)]
    for number in range(0, len(runs), 2):
        yield runs[number], runs[number + 1] if number + 1 < len(runs) else []


def _text_of_lines(lines: Sequence[_ChatLine]) -> str:
    return "\n".join(
        f"{line.speaker}: {line.text}" + (f" [shares {line.blip_caption}]" if line.blip_caption else "")
        for line in lines
    )


def _build(row: tuple[_SessionTurns, int, _LocomoQuestion], place: SourceLocation) -> Conversation:
    dialogue, number, asked = row
    if asked.category not in KINDS:
        raise place.error(
            f"{asked.category} is not a category (allowed: 1 to 5)", f"qa[{number - 1}].category"
        )
    id, kind = f"{dialogue.id}/q{number}", KINDS[asked.category]
    answers: tuple[str, ...] = () if asked.answer is None else (str(asked.answer),)
    if asked.category == 3 and answers:
        # What is behind the semicolon is a reason, which the authors don't score.
        answers = tuple(dict.fromkeys((answers[0].partition(";")[0].strip(), *answers)))
    named = {
        "sample_id": dialogue.id,
        "category": asked.category,
        "adversarial_answer": asked.adversarial_answer,
    }
    question = Turn(
        id=id,
        question=asked.question,
        gold_answers=(CANNOT_ANSWER, *answers) if kind == ABSTENTION else answers,
        session=id,
        evidence=() if kind == ABSTENTION else _evidence(asked.evidence, dialogue.turn_of),
        kind=kind,
    )
    return Conversation(
        id=id,
        turns=(*dialogue.turns, question),
        metadata=with_timestamps(
            {key: value for key, value in named.items() if value is not None},
            asked=[*dialogue.begun, None],
            answered=(),
            place=place,
        ),
    )


def _evidence(given: Sequence[str], turn_of: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids of the turns that *given* places name; of a place that there isn't, none."""
    named = (f"D{session}:{line}" for text in given for session, line in _PLACE.findall(text))
    return tuple(dict.fromkeys(turn_of[place] for place in named if place in turn_of))
