"""
Questions with their recorded history and a human rewrite, from any data set that has both.

What the learned resolver is trained on and measured with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from replay.core.history import Exchange
from replay.coreference.resolver import Document, document_of
from replay.datasets.loading import read_conversations

FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question in its gold history, with the human rewrite."""

    dialog: str
    group: str
    """What it is about (an article, a topic): never on both sides of a split."""
    document: Document
    rewrite: str

    @property
    def fold(self) -> int:
        """The fold that its group belongs to, the same in every process."""
        return hashlib.md5(self.group.encode()).digest()[0] % FOLDS


def read_examples(paths: Sequence[Path]) -> list[Example]:
    """
    The questions of all files that have a human rewrite, with the whole history before each.

    Questions that several paths through one conversation share (CAsT 2022) are taken once.

    Raises:
        DatasetError: a file can't be read.
    """
    found: dict[tuple[str, Document], Example] = {}
    for conversation in read_conversations(paths, reader=None, on_bad=None, limit=None):
        topic = conversation.metadata.get("topic")
        group = conversation.title.strip().lower() if topic is None else f"topic {topic}"
        turns: list[Exchange] = []
        for turn in conversation.turns:
            if turn.standalone:
                document = document_of(conversation, turn.question, turns, window=len(turns), background=True)
                found.setdefault(
                    (group, document),
                    Example(dialog=conversation.id, group=group, document=document, rewrite=turn.standalone),
                )
            turns.append(Exchange(question=turn.question, answer=turn.gold_answer or ""))
    return list(found.values())
