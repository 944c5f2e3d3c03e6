"""
Fits the resolver's networks to mentions whose right reading is known.

Listwise: the scores of a mention's candidates become probabilities, and those of the right ones are
raised. Numpy alone, a seed for everything that is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from replay.coreference.embedded.features import Matrix
from replay.coreference.embedded.mention_features import KINDS
from replay.coreference.embedded.network import PARAMETERS, Ensemble, Network
from replay.coreference.training.adam import Adam, Parameters

Vector32 = npt.NDArray[np.float32]


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
    made = {
        "mention": random(mention, width, fan_in=mention + candidate),
        "candidate": random(candidate, width, fan_in=mention + candidate),
        "bias": np.zeros(width, np.float32),
        "hidden": random(width, hidden, fan_in=width),
        "hidden_bias": np.zeros(hidden, np.float32),
        "out": random(hidden, fan_in=hidden),
        "wide": np.zeros((len(KINDS), candidate), np.float32),
    }
    return {name: made[name] for name in PARAMETERS}


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
