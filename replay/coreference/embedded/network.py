"""
Scores of candidates for a mention: an average of small networks with two hidden layers, in numpy.

A network sees the mention's row and a candidate's row, besides which each kind of mention has a linear
score of its own over the candidate's row. "Leave the mention alone" is scored as a candidate whose row
is zero but for a constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from replay.coreference.embedded.features import Matrix
from replay.coreference.embedded.mention_features import KINDS

Array = npt.NDArray[np.float64]

WEIGHTS = "weights.npz"


@dataclass(frozen=True, slots=True)
class Network:
    """One member of the ensemble."""

    mention: Array
    candidate: Array
    bias: Array
    hidden: Array
    hidden_bias: Array
    out: Array
    wide: Array

    def scores(self, mention: Array, rows: Array) -> Array:
        """One score for each of *rows*."""
        first = np.maximum(rows @ self.candidate + (mention @ self.mention + self.bias), 0)
        second = np.maximum(first @ self.hidden + self.hidden_bias, 0)
        kind = mention[: len(KINDS)] @ self.wide
        scores: Array = second @ self.out + rows @ kind
        return scores


PARAMETERS = tuple(field.name for field in fields(Network))


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Networks whose scores are averaged."""

    networks: tuple[Network, ...]

    def probabilities(self, mention: Matrix, rows: Matrix) -> Array:
        """
        The probability of leaving the mention alone, then one for each candidate; they sum to 1.

        In double precision, so that the number of threads numpy adds with can't change a digit that
        is kept.
        """
        seen = with_leave_alone(rows).astype(np.float64)
        about = mention.astype(np.float64)
        scores: Array = np.mean([n.scores(about, seen) for n in self.networks], axis=0)
        scores = np.exp(scores - scores.max())
        probabilities: Array = scores / scores.sum()
        return probabilities


def with_leave_alone(rows: Matrix) -> Matrix:
    """*rows* with the row of leaving alone in front and a column in front that marks it."""
    extended = np.zeros((len(rows) + 1, rows.shape[1] + 1), np.float32)
    extended[0, 0] = 1.0
    extended[1:, 1:] = rows
    return extended


@cache
def shipped() -> Ensemble:
    """The ensemble that comes with the program; loaded once in a process."""
    with resources.files(__package__).joinpath(WEIGHTS).open("rb") as file:
        return unpacked(np.load(file, allow_pickle=False))


def unpacked(arrays: Mapping[str, npt.NDArray[np.float16]]) -> Ensemble:
    """The ensemble that is stored as one array for each of ``PARAMETERS``, networks along its first axis."""
    wide = [arrays[name].astype(np.float64) for name in PARAMETERS]
    return Ensemble(tuple(Network(*parameters) for parameters in zip(*wide, strict=True)))
