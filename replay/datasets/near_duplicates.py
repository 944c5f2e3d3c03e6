"""
Near-duplicates by MinHash (Broder, 1997) with locality-sensitive hashing.

What is compared are sets, of a text's runs of words for instance. Two are near-duplicates if their Jaccard
similarity is at least a threshold. MinHash proposes pairs; each is then compared exactly, so that none is
called a duplicate by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

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
