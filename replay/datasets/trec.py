"""
Topics of TREC CAsT and iKAT, in the organisers' JSON files.

CAsT 2021 and 2022 (Dalton et al.):

In 2021 a topic is one conversation and each turn brings the passage that answers it, which is its
gold answer and, under its official id, one of the conversation's passages. In 2022 a topic is a tree
and each item one path through it, so a conversation is named by the topic and its last turn
(``132_1-7``); answers are the ``response`` texts and ``provenance`` names passages of the collection,
whose texts the file doesn't hold. Turn ids are TREC's own (``106_1``, ``132_1-3``).

TREC iKAT topics (Aliannejadi et al., 2024), in the organisers' JSON files.

What the user has said of themselves (the ``ptkb``) becomes the background, one sentence a statement.
The statements that a turn's answer rests on (``ptkb_provenance``) become its ``fact``. The
provenance of a response names passages of the collection, whose texts the file doesn't hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.datasets.json_rows import has_only, outline, rows_of_list
from replay.datasets.reader import conversations


class _CastTurn(msgspec.Struct):
    number: int | str
    raw_utterance: str | None = None
    utterance: str | None = None
    manual_rewritten_utterance: str | None = None
    automatic_rewritten_utterance: str | None = None
    passage: str | None = None
    canonical_result_id: str | None = None
    passage_id: int | str | None = None
    response: str | None = None
    provenance: list[str] = []

    @property
    def passage_name(self) -> str | None:
        """The official id of the canonical passage (2021): document and passage number."""
        if self.canonical_result_id is None or not _has_text(self.passage):
            return None
        number = "" if self.passage_id is None else f"-{self.passage_id}"
        return f"{self.canonical_result_id}{number}"


class _CastTopic(msgspec.Struct):
    number: int | str
    turn: list[_CastTurn]
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CastReader:
    """Reads CAsT 2021 and 2022 topic files; which year it is shows in each turn."""

    rewrites: Literal["manual", "automatic"] = "manual"
    """Whose rewritten questions are the standalone ones; 2022 has manual ones only."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item has a number and turns with a raw or a plain utterance."""
        found = outline(head)
        turn = found.get("[].turn[]", frozenset())
        return (
            has_only(found.get("[]"), required={"number", "turn"}, optional={"title", "description"})
            and "number" in turn
            and bool(turn & {"raw_utterance", "utterance"})
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a topic or path. Raises a ``DatasetError`` if the file can't be read."""
        seen: Counter[str] = Counter()

        def build(topic: _CastTopic, place: SourceLocation) -> Conversation:
            name = str(topic.number)
            if any(turn.utterance is not None for turn in topic.turn):
                name += f"_{topic.turn[-1].number}"
                seen[name] += 1
                name += f"_{seen[name]}" if seen[name] > 1 else ""
            return Conversation(
                id=name,
                turns=tuple(self._turn(topic, index, place) for index in range(len(topic.turn))),
                title=topic.title,
                background=topic.description,
                passages=_passages(topic),
                metadata={"topic": topic.number},
            )

        yield from conversations(rows_of_list(path, _CastTopic), build)

    def _turn(self, topic: _CastTopic, index: int, place: SourceLocation) -> Turn:
        turn = topic.turn[index]
        question = turn.raw_utterance if turn.utterance is None else turn.utterance
        if question is None:
            raise place.error(
                "is required but missing (raw_utterance in 2021 files)", f"turn[{index}].utterance"
            )
        rewrite = turn.manual_rewritten_utterance
        if self.rewrites == "automatic":
            rewrite = turn.automatic_rewritten_utterance
            if rewrite is None:
                raise place.error(
                    'is missing, as in all 2022 files; set rewrites to "manual"',
                    f"turn[{index}].automatic_rewritten_utterance",
                )
        answer = turn.passage if turn.response is None else turn.response
        passage = turn.passage_name
        return Turn(
            id=f"{topic.number}_{turn.number}",
            question=question,
            gold_answers=(answer,) if answer is not None and _has_text(answer) else (),
            standalone=rewrite if _has_text(rewrite) else None,
            gold_passages=tuple(turn.provenance) if passage is None else (passage,),
        )


def _passages(topic: _CastTopic) -> tuple[Passage, ...]:
    """Return the canonical passages, sorted by id so that their order doesn't tell which turn they answer."""
    texts: dict[str, list[str]] = {}
    for turn in topic.turn:
        if turn.passage_name is not None and turn.passage is not None:
            parts = texts.setdefault(turn.passage_name, [])
            # Topic 106 of 2021 has two different texts under one id; the passage then holds both.
            if turn.passage not in parts:
                parts.append(turn.passage)
    return tuple(Passage(id=name, text="\n".join(texts[name])) for name in sorted(texts))


def _has_text(text: str | None) -> bool:
    return text is not None and bool(text.strip())


class _IkatTurn(msgspec.Struct):
    turn_id: int | str
    utterance: str
    resolved_utterance: str | None = None
    response: str | None = None
    response_provenance: list[str] = []
    ptkb_provenance: list[int | str] = []


class _Topic(msgspec.Struct):
    number: int | str
    turns: list[_IkatTurn]
    title: str = ""
    ptkb: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class IkatReader:
    """Reads iKAT topic files. Conversations and turns have TREC's ids (``0``, ``0_1``)."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item has a ptkb and turns with a turn_id."""
        found = outline(head)
        return has_only(found.get("[]"), required={"number", "ptkb", "turns"}, optional={"title"}) and {
            "turn_id",
            "utterance",
        } <= found.get("[].turns[]", frozenset())

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a topic. Raises a ``DatasetError`` if the file can't be read."""
        yield from conversations(rows_of_list(path, _Topic), _build)


def _build(topic: _Topic, place: SourceLocation) -> Conversation:
    statements = {number: _sentence(text) for number, text in topic.ptkb.items()}
    return Conversation(
        id=str(topic.number),
        turns=tuple(_ikat_turn(topic, index, statements, place) for index in range(len(topic.turns))),
        title=topic.title,
        background=" ".join(filter(None, statements.values())),
        metadata={"topic": topic.number},
    )


def _ikat_turn(topic: _Topic, index: int, statements: dict[str, str], place: SourceLocation) -> Turn:
    turn = topic.turns[index]
    for number in turn.ptkb_provenance:
        if str(number) not in statements:
            raise place.error(
                f"names statement {number}, which the ptkb doesn't have", f"turns[{index}].ptkb_provenance"
            )
    return Turn(
        id=f"{topic.number}_{turn.turn_id}",
        question=turn.utterance,
        gold_answers=(turn.response,) if turn.response and turn.response.strip() else (),
        standalone=turn.resolved_utterance or None,
        gold_passages=tuple(turn.response_provenance),
        fact=" ".join(statements[str(number)] for number in turn.ptkb_provenance) or None,
    )


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."
