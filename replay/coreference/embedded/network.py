"""
Scores of candidates for a mention: an average of small networks with two hidden layers, in numpy.

A network sees the mention's row and a candidate's row, besides which each kind of mention has a linear
score of its own over the candidate's row. "Leave the mention alone" is scored as a candidate whose row
is zero but for a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from replay.coreference.embedded.features import Matrix
from replay.coreference.embedded.mention_features import KINDS

Vector = npt.NDArray[np.float64]

WEIGHTS = "weights.npz"
PARAMETERS = ("mention", "candidate", "bias", "hidden", "hidden_bias", "out", "wide")


@dataclass(frozen=True, slots=True)
class Network:
    """One member of the ensemble."""

    mention: npt.NDArray[np.float64]
    candidate: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    hidden: npt.NDArray[np.float64]
    hidden_bias: npt.NDArray[np.float64]
    out: npt.NDArray[np.float64]
    wide: npt.NDArray[np.float64]

    def scores(self, mention: npt.NDArray[np.float64], rows: npt.NDArray[np.float64]) -> Vector:
        """One score for each of *rows*."""
        first = np.maximum(rows @ self.candidate + (mention @ self.mention + self.bias), 0)
        second = np.maximum(first @ self.hidden + self.hidden_bias, 0)
        kind = mention[: len(KINDS)] @ self.wide
        scores: Vector = second @ self.out + rows @ kind
        return scores


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Networks whose scores are averaged."""

    networks: tuple[Network, ...]
    leave_alone: float = 0.0
    """Added to the score of leaving a mention alone."""
    sharpness: float = 1.0
    """Scores are multiplied by it before they become probabilities."""

    def probabilities(self, mention: Matrix, rows: Matrix) -> Vector:
        """
        The probability of leaving the mention alone, then one for each candidate; they sum to 1.

        In double precision, so that the number of threads numpy adds with can't change a digit that
        is kept.
        """
        seen = with_leave_alone(rows).astype(np.float64)
        about = mention.astype(np.float64)
        scores: Vector = np.mean([n.scores(about, seen) for n in self.networks], axis=0) * self.sharpness
        scores[0] += self.leave_alone
        scores = np.exp(scores - scores.max())
        probabilities: Vector = scores / scores.sum()
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
        stored = np.load(file, allow_pickle=False)
        return unpacked({name: stored[name] for name in stored.files})


def packed(ensemble: Ensemble) -> dict[str, npt.NDArray[np.float16]]:
    """An ensemble as arrays of half precision by name, to be stored."""
    arrays = {
        name: np.stack([getattr(network, name) for network in ensemble.networks]).astype(np.float16)
        for name in PARAMETERS
    }
    return {**arrays, "settings": np.asarray([ensemble.leave_alone, ensemble.sharpness], np.float16)}


def unpacked(arrays: dict[str, npt.NDArray[np.float16]]) -> Ensemble:
    """The inverse of ``packed``."""
    wide = {name: arrays[name].astype(np.float64) for name in PARAMETERS}
    settings = arrays["settings"].astype(np.float64)
    networks = tuple(
        Network(**{name: wide[name][index] for name in PARAMETERS}) for index in range(len(wide["bias"]))
    )
    return Ensemble(networks, leave_alone=float(settings[0]), sharpness=float(settings[1]))
