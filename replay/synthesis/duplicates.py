"""
Near-duplicates of questions with their answers, by MinHash (Broder, 1997) with locality-sensitive hashing.

A turn is the set of its words, pairs and triples of words. Two turns are near-duplicates if their sets have
a Jaccard similarity of at least a threshold. MinHash proposes pairs; each is then compared exactly, so that
none is called a duplicate by chance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.core.conversation import Conversation, Turn
from replay.synthesis.documents.extra import extra_module

THRESHOLD = 0.8
_PERMUTATIONS = 128
_WORD = re.compile(r"\w+")


def turn_text(turn: Turn) -> str:
    """Return what makes *turn* the same as another: its question, standalone where it can be, and answer."""
    return f"{turn.standalone or turn.question}\n{turn.gold_answer or ''}"


def near_duplicates(texts: Sequence[str], *, threshold: float = THRESHOLD, seed: int = 1) -> dict[int, int]:
    """
    Return which of *texts* nearly repeat an earlier one: index to the index of the first like it.

    Args:
        texts: Any texts; empty ones repeat nothing.
        threshold: The least Jaccard similarity of words, pairs and triples, above 0 and at most 1.
        seed: Of the permutations; another may find other pairs near *threshold*, of which some are missed.

    Raises:
        PluginError: datasketch is not installed.
    """
    datasketch = extra_module("datasketch")
    # Proposed from a lower similarity on, since a sketch may show less than there is.
    index = datasketch.MinHashLSH(threshold=0.8 * threshold, num_perm=_PERMUTATIONS)
    sets = [_shingles(text) for text in texts]
    exact: dict[frozenset[str], int] = {}
    found: dict[int, int] = {}
    for number, shingles in enumerate(sets):
        if not shingles:
            continue
        if (first := exact.get(shingles)) is not None:
            found[number] = first
            continue
        sketch = datasketch.MinHash(num_perm=_PERMUTATIONS, seed=seed)
        sketch.update_batch([shingle.encode() for shingle in sorted(shingles)])
        like = sorted(
            other for other in index.query(sketch) if _similarity(shingles, sets[other]) >= threshold
        )
        exact[shingles] = like[0] if like else number
        if like:
            found[number] = like[0]
        else:
            index.insert(number, sketch)
    return found


def duplicate_turns(
    conversations: Sequence[Conversation], *, threshold: float = THRESHOLD, seed: int = 1
) -> set[tuple[str, int]]:
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
    found = near_duplicates([text for _, _, text in turns], threshold=threshold, seed=seed)
    return {turns[number][:2] for number in found}


def _shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(
        " ".join(words[start : start + size]) for size in (1, 2, 3) for start in range(len(words) - size + 1)
    )


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)
