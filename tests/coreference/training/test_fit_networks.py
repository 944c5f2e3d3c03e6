"""The networks' gradients, and the steps that are taken along them."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference.embedded.asked import KINDS
from replay.coreference.embedded.features import Described
from replay.coreference.training.fit_networks import (
    Adam,
    FitSettings,
    TrainingExample,
    _Batch,
    _gradients,
    _initial,
    joined,
)

QUICK = FitSettings(width=8, hidden_width=4)


def taught(rng, mentions, candidates, weight):
    """A document whose last mention is taught nothing."""
    rows = np.concatenate([np.eye(len(KINDS))[:mentions], rng.normal(size=(mentions, 2))], axis=1)
    right = np.zeros((mentions, candidates + 1), np.float32)
    right[:-1, :2] = weight * np.asarray([0.25, 0.75])
    described = Described(
        rows.astype(np.float32),
        rng.normal(size=(candidates, 4)).astype(np.float32),
        rng.normal(size=(mentions, candidates, 3)).astype(np.float32),
    )
    return TrainingExample(described, right)


@pytest.fixture
def case():
    """Examples, and parameters none of which are zero."""
    rng = np.random.default_rng(0)
    examples = [taught(rng, 2, 3, 1.0), taught(rng, 3, 5, 0.5)]
    parameters = _initial(examples[0].described, QUICK, rng)
    for values in parameters.values():
        values += rng.normal(scale=0.1, size=values.shape).astype(np.float32)
    return examples, parameters, rng


def loss(parameters, examples):
    """The mean cross entropy, by the probabilities that are used at run time."""
    network, total, count = joined([parameters]), 0.0, 0
    for example in examples:
        logs = np.log(network.probabilities(example.described))
        total -= (logs * example.right).sum()
        count += int(example.right.any(axis=1).sum())
    return total / count


def test_gradients_are_those_of_the_loss(case):
    examples, parameters, rng = case
    gradients = _gradients(parameters, _Batch(examples), 0.0, rng)
    precise = {name: values.astype(np.float64) for name, values in parameters.items()}

    assert gradients.keys() == parameters.keys()
    for name, values in parameters.items():
        assert gradients[name].shape == values.shape
        for place in {
            tuple(np.unravel_index(at, values.shape)) for at in (0, values.size // 2, values.size - 1)
        }:
            slopes = []
            for step in (1e-2, -1e-2):
                changed = {**precise, name: precise[name].copy()}
                changed[name][place] += step
                slopes.append(loss({n: v.astype(np.float32) for n, v in changed.items()}, examples))
            assert gradients[name][place] == pytest.approx((slopes[0] - slopes[1]) / 2e-2, abs=2e-3), name


def test_dropout_changes_gradients_and_not_their_mean(case):
    examples, parameters, rng = case
    whole = _gradients(parameters, _Batch(examples), 0.0, rng)["wide_alone"]
    dropped = [_gradients(parameters, _Batch(examples), 0.3, rng)["wide_alone"] for _ in range(300)]

    assert not np.array_equal(dropped[0], dropped[1])
    assert np.mean(dropped, axis=0) == pytest.approx(whole, abs=0.03)


def test_mentions_of_which_nothing_is_known_teach_nothing(case):
    examples, *_ = case
    batch = _Batch(examples)

    assert len(batch.mentions) == 1 + 2
    assert len(batch.rows) == 4 + 6 + 6
    assert batch.starts.tolist() == [0, 4, 10]
    assert not batch.rows[batch.starts].any()  # leaving alone


def test_steps_lead_to_the_least_of_a_parabola():
    parameters = {"x": np.asarray([3.0, -2.0], np.float32)}
    adam = Adam(parameters, steps=300, learning_rate=0.1, weight_decay=0.0)
    for _ in range(300):
        adam.step({"x": 2 * (parameters["x"] - np.asarray([1.0, 0.5], np.float32))})

    assert parameters["x"] == pytest.approx([1.0, 0.5], abs=0.01)


def test_weights_decay_without_a_gradient():
    parameters = {"x": np.ones(1, np.float32)}
    adam = Adam(parameters, steps=10, learning_rate=0.1, weight_decay=0.5)
    for _ in range(10):
        adam.step({"x": np.zeros(1, np.float32)})

    assert 0.5 < parameters["x"][0] < 1
