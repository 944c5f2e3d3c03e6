"""
LoCoMo (Maharana et al., 2024): questions about two people's chats over months.

The format is that of ``locomo10.json`` in https://github.com/snap-research/locomo: a list of dialogues, each
with its sessions and its questions. A conversation is the whole dialogue and one question, so that no
question leans on another; made for ``ask: last``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Turn
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.core.message import Message
from replay.datasets.json_outline import outline
from replay.datasets.json_rows import rows_of_list
from replay.datasets.longmemeval import ABSTENTION, iso_time
from replay.datasets.place import SourceLocation
from replay.datasets.timestamps import with_timestamps
from replay.datasets.typed_json import decode
from replay.datasets.validation import conversations

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
                        question=_text(said),
                        # Nobody answered what a session ends with.
                        gold_answers=(_text(answer),),
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


def _text(lines: Sequence[_ChatLine]) -> str:
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
