"""
What words mean, roughly: a short vector for each of some twenty thousand English words.

Made from the sentence encoder all-MiniLM-L6-v2 (Apache-2.0), which read each word alone, by
``replay.coreference.training.word_vectors``; nothing but the result ships with the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from replay.coreference.words import singular

Vector = npt.NDArray[np.float32]

FILE = "vectors.npz"
SIZE = 32


@cache
def _index() -> dict[str, int]:
    return {word: number for number, word in enumerate(_stored()[0], 1)}


@cache
def _stored() -> tuple[list[str], Vector]:
    with resources.files(__package__).joinpath(FILE).open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        words = bytes(stored["words"]).decode("utf-8").split("\n")
        rows = stored["rows"].astype(np.float32) / 127.0
    return words, np.concatenate([np.zeros((1, SIZE), np.float32), rows])


@lru_cache(maxsize=65536)
def number_of(word: str) -> int:
    """Where the vector of *word*, or of its singular, stands among ``vectors``; 0 where it has none."""
    index = _index()
    return index.get(word) or index.get(singular(word), 0)


def vectors(numbers: Sequence[int]) -> Vector:
    """One row for each of *numbers*; that of 0 is zero."""
    rows: Vector = _stored()[1][list(numbers)]
    return rows


def rows_of(words: Iterable[str]) -> Vector:
    """The vectors of those *words* that have one, as rows."""
    return vectors([number for word in words if (number := number_of(word))])


def mean_of(words: Iterable[str]) -> Vector:
    """The mean of the vectors of *words*, of length 1; zero where none has one."""
    mean: Vector = means_of([list(words)])[0]
    return mean


def means_of(groups: Sequence[Sequence[str]]) -> Vector:
    """One row for each of *groups* of words: the mean of their vectors, of length 1 or zero."""
    means = np.zeros((len(groups), SIZE), np.float32)
    for number, words in enumerate(groups):
        found = [at for word in words if (at := number_of(word))]
        if found:
            means[number] = vectors(found).sum(axis=0)
    return normalized(means)


def normalized(rows: Vector) -> Vector:
    """*rows* in length 1; zero ones stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    scaled: Vector = rows / lengths[:, None]
    return scaled
