"""
Near-duplicates by MinHash (Broder, 1997) with locality-sensitive hashing.

What is compared are sets, of a text's runs of words for instance. Two are near-duplicates if their Jaccard
similarity is at least a threshold. MinHash proposes pairs; each is then compared exactly, so that none is
called a duplicate by chance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from replay.core.conversation import Conversation, Turn
from replay.core.extras import extra_module

THRESHOLD = 0.8
_PERMUTATIONS = 128
_FEW = 100
"""So many are compared each with each, in less time than it takes to import datasketch."""


def near_duplicates(
    sets: Sequence[frozenset[str]], extra: str, *, threshold: float = THRESHOLD
) -> dict[int, int]:
    """
    Return which of *sets* nearly repeat an earlier one: index to the index of the first like it.

    Args:
        sets: Of strings; an empty one repeats nothing.
        extra: Of convreplay's, which brings datasketch.
        threshold: The least Jaccard similarity, above 0 and at most 1; of many sets some pairs near it are
            missed.

    Raises:
        PluginError: datasketch is not installed, and there are many sets.
    """
    if len(sets) <= _FEW:
        return _compare_all(sets, threshold)
    datasketch = extra_module("datasketch", extra, "finding near-duplicates")
    # Proposed from a lower similarity on, since a sketch may show less than there is.
    index = datasketch.MinHashLSH(threshold=0.8 * threshold, num_perm=_PERMUTATIONS)
    exact: dict[frozenset[str], int] = {}
    found: dict[int, int] = {}
    for number, one in enumerate(sets):
        if not one:
            continue
        if (first := exact.get(one)) is not None:
            found[number] = first
            continue
        sketch = datasketch.MinHash(num_perm=_PERMUTATIONS)
        sketch.update_batch([text.encode() for text in sorted(one)])
        like = sorted(other for other in index.query(sketch) if _similarity(one, sets[other]) >= threshold)
        exact[one] = like[0] if like else number
        if like:
            found[number] = like[0]
        else:
            index.insert(number, sketch)
    return found


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def _compare_all(sets: Sequence[frozenset[str]], threshold: float) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, one in enumerate(sets):
        others = (other for other in range(number) if other not in found and sets[other])
        like = (other for other in others if one and _similarity(one, sets[other]) >= threshold)
        if (first := next(like, None)) is not None:
            found[number] = first
    return found


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
