"""Near-duplicates of questions with their answers, as sets of their words, pairs and triples of words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.core.conversation import Conversation, Turn
from replay.datasets.near_duplicates import near_duplicates

_WORD = re.compile(r"\w+")


def turn_text(turn: Turn) -> str:
    """Return what makes *turn* the same as another: its question, standalone where it can be, and answer."""
    return f"{turn.standalone or turn.question}\n{turn.gold_answer or ''}"


def duplicate_texts(texts: Sequence[str]) -> dict[int, int]:
    """
    Return which of *texts* nearly repeat an earlier one: index to the index of the first like it.

    Raises:
        PluginError: datasketch is not installed.
    """
    return near_duplicates([_shingles(text) for text in texts], "synthesis")


def duplicate_turns(conversations: Sequence[Conversation]) -> set[tuple[str, int]]:
    """
    Return the turns, by conversation and depth, that nearly repeat an earlier one of any conversation.

    Raises:
        PluginError: datasketch is not installed.
    """
    turns = [
        (conversation.id, depth, turn_text(turn))
        for conversation in conversations
        for depth, turn in enumerate(conversation.turns, 1)
    ]
    return {turns[number][:2] for number in duplicate_texts([text for _, _, text in turns])}


def _shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(
        " ".join(words[start : start + size]) for size in (1, 2, 3) for start in range(len(words) - size + 1)
    )
