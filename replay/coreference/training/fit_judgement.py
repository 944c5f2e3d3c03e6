"""
Fits a learned judgement (``replay.coreference.small_network``) to cases of which the answer is known.

A case may have several rows: a question has yes its meaning when one of its mentions has. Its probability
is one minus the product of the rows' probabilities of "no" ("noisy or"), and the cross entropy is taken
of that. Numpy alone, a seed for everything that is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from replay.coreference.embedded.looks import Matrix
from replay.coreference.small_network import FURTHEST, SmallNetwork
from replay.coreference.training.fit_networks import Adam, Parameters, Vector32, kept_units

_LEAST_SPREAD = 0.02
_STEPS_BETWEEN = 0.01
_LEAST_FLAGGED = 50


@dataclass(frozen=True, slots=True)
class Case:
    """Rows of numbers, and whether "yes" is right for at least one of them."""

    evidence: Matrix
    """(rows, numbers), at least one row."""
    yes: bool
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementSettings:
    """How the networks are fitted."""

    networks: int = 3
    width: int = 32
    epochs: int = 6
    batch: int = 256
    learning_rate: float = 5e-3
    weight_decay: float = 0.01
    dropout: float = 0.1
    seed: int = 0


def fit_judgement(cases: Sequence[Case], settings: JudgementSettings) -> SmallNetwork:
    """Networks fitted to all *cases*, without thresholds (``with_precisions``)."""
    rows = np.concatenate([case.evidence for case in cases]).astype(np.float32)
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + _LEAST_SPREAD
    rows = np.clip((rows - mean) / spread, -FURTHEST, FURTHEST)
    networks = [_fit(rows, cases, settings, settings.seed + n) for n in range(settings.networks)]
    return SmallNetwork(
        mean=mean.astype(np.float64),
        spread=spread.astype(np.float64),
        hidden=np.concatenate([n["hidden"] for n in networks], axis=1).astype(np.float64),
        hidden_bias=np.concatenate([n["hidden_bias"] for n in networks]).astype(np.float64),
        out=np.concatenate([n["out"] for n in networks]).astype(np.float64) / len(networks),
        out_bias=np.mean([n["out_bias"] for n in networks], axis=0, dtype=np.float64),
        thresholds=np.asarray([0.5]),
        precisions=np.asarray([1.0]),
    )


def _fit(rows: Vector32, cases: Sequence[Case], settings: JudgementSettings, seed: int) -> Parameters:
    rng = np.random.default_rng(seed)
    counts = np.asarray([len(case.evidence) for case in cases])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    yes = np.asarray([case.yes for case in cases])
    weights = np.asarray([case.weight for case in cases], np.float32)
    limit = np.sqrt(3.0 / rows.shape[1])
    parameters: Parameters = {
        "hidden": rng.uniform(-limit, limit, (rows.shape[1], settings.width)).astype(np.float32),
        "hidden_bias": np.zeros(settings.width, np.float32),
        "out": rng.uniform(-0.3, 0.3, settings.width).astype(np.float32),
        "out_bias": np.full(1, -2.0, np.float32),
    }
    batches = -(-len(cases) // settings.batch)
    adam = Adam(
        parameters,
        steps=settings.epochs * batches,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )
    for _ in range(settings.epochs):
        order = rng.permutation(len(cases))
        for start in range(0, len(order), settings.batch):
            chosen = order[start : start + settings.batch]
            sizes = counts[chosen]
            firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            owner = np.repeat(np.arange(len(chosen)), sizes)
            at = starts[chosen][owner] + np.arange(len(owner)) - firsts[owner]
            adam.step(
                _gradients(
                    parameters, rows[at], owner, firsts, yes[chosen], weights[chosen], settings.dropout, rng
                )
            )
    return parameters


def _gradients(
    parameters: Parameters,
    rows: Matrix,
    owner: np.ndarray,
    firsts: np.ndarray,
    yes: np.ndarray,
    weights: Vector32,
    dropout: float,
    rng: np.random.Generator,
) -> Parameters:
    """Gradients of the weighted mean cross entropy of the cases' probabilities."""
    before = rows @ parameters["hidden"] + parameters["hidden_bias"]
    kept = kept_units(before, dropout, rng)
    hidden = np.maximum(before, 0) * kept
    scores = hidden @ parameters["out"] + parameters["out_bias"]
    one = 1 / (1 + np.exp(-scores))
    same = np.exp(-np.add.reduceat(np.logaddexp(0, scores), firsts))
    question = np.maximum(1 - same, 1e-6)
    share = np.where(yes, 1 - 1 / question, 1.0).astype(np.float32) * weights / weights.sum()
    error = (one * share[owner]).astype(np.float32)
    hidden_error = np.outer(error, parameters["out"]) * (before > 0) * kept
    return {
        "hidden": rows.T @ hidden_error,
        "hidden_bias": hidden_error.sum(axis=0),
        "out": hidden.T @ error,
        "out_bias": error.sum(keepdims=True),
    }


def with_precisions(network: SmallNetwork, found: Sequence[tuple[float, bool, float]]) -> SmallNetwork:
    """
    *network* with the precision at each threshold, from (probability, yes, weight) of cases not learned from.

    A precision never falls with a higher threshold: where it does by chance, the best below it stands.
    Too few cases to measure any leave the network as it is.
    """
    probabilities = np.asarray([probability for probability, _, _ in found])
    weights = np.asarray([weight for _, _, weight in found])
    right = weights * np.asarray([yes for _, yes, _ in found])
    thresholds, precisions = [], []
    for threshold in np.arange(_STEPS_BETWEEN, 1.0, _STEPS_BETWEEN):
        flagged = probabilities >= threshold
        if flagged.sum() < _LEAST_FLAGGED:
            break
        thresholds.append(threshold)
        precisions.append(right[flagged].sum() / weights[flagged].sum())
    if not thresholds:
        return network
    return replace(
        network,
        thresholds=np.asarray(thresholds),
        precisions=np.maximum.accumulate(np.asarray(precisions)),
    )
