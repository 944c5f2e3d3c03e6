"""
Fits the resolver's networks to mentions whose right reading is known.

Listwise: the scores of a mention's candidates become probabilities, and those of the right ones are
raised. Numpy alone, a seed for everything that is random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from replay.coreference.embedded.features import Matrix
from replay.coreference.embedded.mention_features import KINDS
from replay.coreference.embedded.network import Ensemble, Network

Vector32 = npt.NDArray[np.float32]
Parameters = dict[str, Vector32]

_WARM_UP = 0.3
_START = 1 / 25


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """One mention with its candidates, and how right each of them is."""

    mention: Vector32
    rows: Matrix
    """The row of leaving alone first (``network.with_leave_alone``)."""
    right: Vector32
    """Sums to 1 over the rows."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """How networks are fitted."""

    networks: int = 10
    width: int = 48
    hidden_width: int = 32
    epochs: int = 8
    batch: int = 16
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    dropout: float = 0.3
    seed: int = 0


def fit_ensemble(examples: Sequence[TrainingExample], settings: FitSettings) -> Ensemble:
    """An ensemble of networks, each fitted to all *examples* with a seed of its own."""
    return Ensemble(
        tuple(_fit(examples, settings, settings.seed + number) for number in range(settings.networks))
    )


def _fit(examples: Sequence[TrainingExample], settings: FitSettings, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    first = examples[0]
    parameters = _initial(len(first.mention), first.rows.shape[1], settings, rng)
    batches = -(-len(examples) // settings.batch)
    adam = Adam(
        parameters,
        steps=settings.epochs * batches,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )
    for _ in range(settings.epochs):
        order = rng.permutation(len(examples))
        for start in range(0, len(order), settings.batch):
            batch = [examples[int(i)] for i in order[start : start + settings.batch]]
            adam.step(_gradients(parameters, batch, settings.dropout, rng))
    return Network(**{name: values.astype(np.float64) for name, values in parameters.items()})


def _initial(mention: int, candidate: int, settings: FitSettings, rng: np.random.Generator) -> Parameters:
    def random(*shape: int, fan_in: int) -> Vector32:
        limit = np.sqrt(3.0 / fan_in)
        return rng.uniform(-limit, limit, shape).astype(np.float32)

    width, hidden = settings.width, settings.hidden_width
    return {
        "mention": random(mention, width, fan_in=mention + candidate),
        "candidate": random(candidate, width, fan_in=mention + candidate),
        "bias": np.zeros(width, np.float32),
        "hidden": random(width, hidden, fan_in=width),
        "hidden_bias": np.zeros(hidden, np.float32),
        "out": random(hidden, fan_in=hidden),
        "wide": np.zeros((len(KINDS), candidate), np.float32),
    }


def _gradients(
    parameters: Parameters, batch: Sequence[TrainingExample], dropout: float, rng: np.random.Generator
) -> Parameters:
    """Gradients of the mean weighted cross entropy."""
    counts = np.asarray([len(example.rows) for example in batch])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    owner = np.repeat(np.arange(len(batch)), counts)
    mentions = np.stack([example.mention for example in batch])
    rows = np.concatenate([example.rows for example in batch])
    right = np.concatenate([example.right for example in batch])
    weight = np.asarray([example.weight for example in batch], np.float32)
    kinds = mentions[:, : len(KINDS)]

    before = rows @ parameters["candidate"] + (mentions @ parameters["mention"] + parameters["bias"])[owner]
    kept_first = _kept(before, dropout, rng)
    first = np.maximum(before, 0) * kept_first
    inner = first @ parameters["hidden"] + parameters["hidden_bias"]
    kept_second = _kept(inner, dropout, rng)
    second = np.maximum(inner, 0) * kept_second
    scores = second @ parameters["out"] + ((kinds @ parameters["wide"])[owner] * rows).sum(axis=1)

    scores = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
    probabilities = scores / np.add.reduceat(scores, starts)[owner]
    error = (probabilities - right) * (weight / len(batch))[owner]

    second_error = np.outer(error, parameters["out"]) * (inner > 0) * kept_second
    first_error = (second_error @ parameters["hidden"].T) * (before > 0) * kept_first
    by_mention = np.add.reduceat(first_error, starts, axis=0)
    return {
        "mention": mentions.T @ by_mention,
        "candidate": rows.T @ first_error,
        "bias": first_error.sum(axis=0),
        "hidden": first.T @ second_error,
        "hidden_bias": second_error.sum(axis=0),
        "out": second.T @ error,
        "wide": kinds.T @ np.add.reduceat(rows * error[:, None], starts, axis=0),
    }


def _kept(values: Matrix, dropout: float, rng: np.random.Generator) -> Matrix:
    """A mask that drops a share of *values* and scales up the others."""
    return (rng.random(values.shape, np.float32) >= dropout).astype(np.float32) / np.float32(1 - dropout)


class Adam:
    """
    Changes *parameters* in place, step by step: decoupled weight decay, one learning-rate cycle.

    Kingma and Ba (2015); Loshchilov and Hutter (2019), "Decoupled weight decay regularization".
    """

    def __init__(
        self, parameters: Parameters, *, steps: int, learning_rate: float, weight_decay: float
    ) -> None:
        self._parameters = parameters
        self._steps = steps
        self._learning_rate = learning_rate
        self._weight_decay = weight_decay
        self._mean = {name: np.zeros_like(values) for name, values in parameters.items()}
        self._square = {name: np.zeros_like(values) for name, values in parameters.items()}
        self._step = 0

    def step(self, gradients: Parameters) -> None:
        """Move every parameter against its gradient."""
        self._step += 1
        rate = self._learning_rate * self._cycle()
        first, second = 1 - 0.9**self._step, 1 - 0.999**self._step
        for name, values in self._parameters.items():
            gradient = gradients[name]
            mean, square = self._mean[name], self._square[name]
            mean *= 0.9
            mean += 0.1 * gradient
            square *= 0.999
            square += 0.001 * gradient * gradient
            values *= 1 - rate * self._weight_decay
            values -= rate * (mean / first) / (np.sqrt(square / second) + 1e-8)

    def _cycle(self) -> float:
        """The learning rate's share: up along a cosine, then down to nothing."""
        done = self._step / self._steps
        if done < _WARM_UP:
            return _START + (1 - _START) * (1 - math.cos(math.pi * done / _WARM_UP)) / 2
        return (1 + math.cos(math.pi * min(1.0, (done - _WARM_UP) / (1 - _WARM_UP)))) / 2
