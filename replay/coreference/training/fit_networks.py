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

from replay.coreference.embedded.asked import KINDS
from replay.coreference.embedded.features import Described
from replay.coreference.embedded.looks import Matrix
from replay.coreference.embedded.network import Ensemble

Vector32 = npt.NDArray[np.float32]
Parameters = dict[str, Vector32]

_WARM_UP = 0.3
_START = 1 / 25


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """One document, and how right each of its candidates is for each of its mentions."""

    described: Described
    right: Matrix
    """(mentions, candidates + 1), leaving alone first. A row sums to its weight, 0 where nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """How networks are fitted."""

    networks: int = 2
    width: int = 48
    hidden_width: int = 32
    epochs: int = 7
    batch: int = 24
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    dropout: float = 0.3
    seed: int = 0


def joined(networks: Sequence[Parameters]) -> Ensemble:
    """Networks side by side."""

    def beside(name: str) -> Vector32:
        return np.concatenate([network[name] for network in networks], axis=-1)

    def mean(name: str) -> Vector32:
        averaged: Vector32 = np.mean([network[name] for network in networks], axis=0, dtype=np.float32)
        return averaged

    return Ensemble(
        mention=beside("mention"),
        candidate=beside("candidate"),
        fit=beside("fit"),
        gate=beside("gate"),
        bias=beside("bias"),
        hidden=np.stack([network["hidden"] for network in networks]),
        hidden_bias=np.stack([network["hidden_bias"][None] for network in networks]),
        out=np.stack([network["out"][:, None] for network in networks]),
        wide_candidate=mean("wide_candidate"),
        wide_fit=mean("wide_fit"),
        wide_alone=mean("wide_alone"),
    )


def fit_network(examples: Sequence[TrainingExample], settings: FitSettings, seed: int) -> Parameters:
    """The parameters of one network, fitted to *examples*."""
    rng = np.random.default_rng(seed)
    parameters = _initial(examples[0].described, settings, rng)
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
            batch = _Batch([examples[int(i)] for i in order[start : start + settings.batch]])
            adam.step(_gradients(parameters, batch, settings.dropout, rng))
    return parameters


def _initial(described: Described, settings: FitSettings, rng: np.random.Generator) -> Parameters:
    def random(*shape: int, fan_in: int) -> Vector32:
        limit = np.sqrt(3.0 / fan_in)
        return rng.uniform(-limit, limit, shape).astype(np.float32)

    mention, candidate, fit = (
        part.shape[-1] for part in (described.mentions, described.candidates, described.fits)
    )
    width, hidden, kinds = settings.width, settings.hidden_width, len(KINDS)
    seen = mention + candidate + fit
    return {
        "mention": random(mention, width, fan_in=seen),
        "candidate": random(candidate, width, fan_in=seen),
        "fit": random(fit, width, fan_in=seen),
        "gate": np.zeros((mention, width), np.float32),
        "bias": np.zeros((2, width), np.float32),
        "hidden": random(width, hidden, fan_in=width),
        "hidden_bias": np.zeros(hidden, np.float32),
        "out": random(hidden, fan_in=hidden),
        "wide_candidate": np.zeros((kinds, candidate), np.float32),
        "wide_fit": np.zeros((kinds, fit), np.float32),
        "wide_alone": np.zeros(kinds, np.float32),
    }


class _Batch:
    """Several documents as one table: a row for leaving alone and for each candidate, mention by mention."""

    def __init__(self, examples: Sequence[TrainingExample]) -> None:
        mentions, rows, fits, rights, counts = [], [], [], [], []
        for example in examples:
            described = example.described
            for number in np.flatnonzero(example.right.any(axis=1)):
                mentions.append(described.mentions[number])
                rows += [np.zeros((1, described.candidates.shape[1]), np.float32), described.candidates]
                fits += [np.zeros((1, described.fits.shape[2]), np.float32), described.fits[number]]
                rights.append(example.right[number])
                counts.append(len(described.candidates) + 1)
        self.mentions = np.stack(mentions).astype(np.float32)
        self.rows = np.concatenate(rows).astype(np.float32)
        self.fits = np.concatenate(fits).astype(np.float32)
        right = np.concatenate(rights)
        self.starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self.owner = np.repeat(np.arange(len(counts)), counts)
        self.weight = np.add.reduceat(right, self.starts)[self.owner] / len(counts)
        self.right = right / len(counts)


def _gradients(parameters: Parameters, batch: _Batch, dropout: float, rng: np.random.Generator) -> Parameters:
    """Gradients of the mean weighted cross entropy."""
    mentions, rows, fits, owner, starts = batch.mentions, batch.rows, batch.fits, batch.owner, batch.starts
    kinds = mentions[:, : len(KINDS)]
    seen = rows @ parameters["candidate"] + fits @ parameters["fit"]
    seen[starts] += parameters["bias"][1]
    gate = 1 + mentions @ parameters["gate"]
    before = seen * gate[owner] + (mentions @ parameters["mention"] + parameters["bias"][0])[owner]
    kept_first = kept_units(before, dropout, rng)
    first = np.maximum(before, 0) * kept_first
    inner = first @ parameters["hidden"] + parameters["hidden_bias"]
    kept_second = kept_units(inner, dropout, rng)
    second = np.maximum(inner, 0) * kept_second
    scores = second @ parameters["out"]
    scores += np.einsum("ij,ij->i", (kinds @ parameters["wide_candidate"])[owner], rows)
    scores += np.einsum("ij,ij->i", (kinds @ parameters["wide_fit"])[owner], fits)
    scores[starts] += kinds @ parameters["wide_alone"]

    scores = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
    probabilities = scores / np.add.reduceat(scores, starts)[owner]
    error = probabilities * batch.weight - batch.right

    second_error = np.outer(error, parameters["out"]) * (inner > 0) * kept_second
    first_error = (second_error @ parameters["hidden"].T) * (before > 0) * kept_first
    seen_error = first_error * gate[owner]
    by_mention = np.add.reduceat(first_error, starts, axis=0)
    return {
        "mention": mentions.T @ by_mention,
        "candidate": rows.T @ seen_error,
        "fit": fits.T @ seen_error,
        "gate": mentions.T @ np.add.reduceat(first_error * seen, starts, axis=0),
        "bias": np.stack([first_error.sum(axis=0), seen_error[starts].sum(axis=0)]),
        "hidden": first.T @ second_error,
        "hidden_bias": second_error.sum(axis=0),
        "out": second.T @ error,
        "wide_candidate": kinds.T @ np.add.reduceat(rows * error[:, None], starts, axis=0),
        "wide_fit": kinds.T @ np.add.reduceat(fits * error[:, None], starts, axis=0),
        "wide_alone": kinds.T @ error[starts],
    }


def kept_units(values: Matrix, dropout: float, rng: np.random.Generator) -> Matrix:
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
