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

from replay.coreference.embedded.asked import KINDS
from replay.coreference.embedded.features import Described
from replay.coreference.embedded.looks import Matrix

WEIGHTS = "weights.npz"


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Networks side by side, whose scores are averaged."""

    mention: Matrix
    """(A, networks x width)."""
    candidate: Matrix
    """(S, networks x width)."""
    fit: Matrix
    """(F, networks x width)."""
    gate: Matrix
    """(A, networks x width): how much the mention wants of what the first layer sees of a candidate."""
    bias: Matrix
    """(2, networks x width): of every row, and of leaving alone besides."""
    hidden: Matrix
    """(networks, width, hidden width)."""
    hidden_bias: Matrix
    """(networks, 1, hidden width)."""
    out: Matrix
    """(networks, hidden width, 1)."""
    wide_candidate: Matrix
    """(kinds, S), of all networks."""
    wide_fit: Matrix
    """(kinds, F)."""
    wide_alone: Matrix
    """(kinds,)."""

    def probabilities(self, described: Described) -> npt.NDArray[np.float64]:
        """
        For each mention the probability of leaving it alone, then one for each candidate.

        (mentions, candidates + 1); rows sum to 1.
        """
        mentions, fits = described.mentions, described.fits
        count, size = fits.shape[:2]
        kinds = mentions[:, : len(KINDS)]
        seen = np.empty((count, size + 1, self.candidate.shape[1]), np.float32)
        seen[:, 0] = self.bias[1]
        seen[:, 1:] = described.candidates @ self.candidate
        seen[:, 1:] += fits @ self.fit
        seen *= 1 + (mentions @ self.gate)[:, None]
        seen += (mentions @ self.mention + self.bias[0])[:, None]
        np.maximum(seen, 0, out=seen)
        networks, width = self.hidden.shape[:2]
        by_network = seen.reshape(-1, networks, width).transpose(1, 0, 2)
        second = np.maximum(by_network @ self.hidden + self.hidden_bias, 0)
        scores = (second @ self.out)[:, :, 0].mean(axis=0, dtype=np.float64).reshape(count, size + 1)
        scores[:, 0] += kinds @ self.wide_alone
        wide = kinds @ self.wide_candidate
        scores[:, 1:] += wide @ described.candidates.T
        scores[:, 1:] += np.matmul(fits, (kinds @ self.wide_fit)[:, :, None])[:, :, 0]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: npt.NDArray[np.float64] = scores / scores.sum(axis=1, keepdims=True)
        return probabilities


PARAMETERS = tuple(field.name for field in fields(Ensemble))


@cache
def shipped() -> Ensemble:
    """The ensemble that comes with the program; loaded once in a process."""
    with resources.files(__package__).joinpath(WEIGHTS).open("rb") as file:
        return unpacked(np.load(file, allow_pickle=False))


def unpacked(arrays: Mapping[str, npt.NDArray[np.float16]]) -> Ensemble:
    """The ensemble that is stored as one array for each of ``PARAMETERS``."""
    return Ensemble(*(arrays[name].astype(np.float32) for name in PARAMETERS))
