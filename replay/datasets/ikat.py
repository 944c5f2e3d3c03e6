"""
TREC iKAT topics (Aliannejadi et al., 2024), in the organisers' JSON files.

What the user has said of themselves (the ``ptkb``) becomes the background, one sentence a statement.
The statements that a turn's answer rests on (``ptkb_provenance``) become its ``fact``. The
provenance of a response names passages of the collection, whose texts the file doesn't hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.datasets.json_outline import has_only, outline
from replay.datasets.json_rows import rows_of_list
from replay.datasets.place import SourceLocation
from replay.datasets.validation import conversations


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
        turns=tuple(_turn(topic, index, statements, place) for index in range(len(topic.turns))),
        title=topic.title,
        background=" ".join(filter(None, statements.values())),
        metadata={"topic": topic.number},
    )


def _turn(topic: _Topic, index: int, statements: dict[str, str], place: SourceLocation) -> Turn:
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
