from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from replay.statistics.interval import Interval, interval
from replay.statistics.resampling import WeightBlocks, cluster_bootstrap, cluster_weights, resampled_means


@given(st.integers(0, 30), st.integers(0, 20), st.integers(0, 2**32))
def test_every_resample_draws_as_many_clusters_as_there_are(clusters, resamples, seed):
    weights = cluster_weights(clusters, resamples=resamples, seed=seed)

    assert weights.shape == (resamples, clusters)
    assert (weights.sum(axis=1) == clusters).all()
    assert (weights == cluster_weights(clusters, resamples=resamples, seed=seed)).all()


def test_another_seed_draws_other_clusters():
    one, other = (cluster_weights(20, resamples=10, seed=seed) for seed in (0, 1))

    assert (one != other).any()


def test_negative_sizes_are_refused():
    with pytest.raises(ValueError, match="negative"):
        cluster_weights(3, resamples=-1, seed=0)


@pytest.mark.parametrize(("block", "looks"), [(70, 5), (330, 1)])
def test_weights_in_blocks_are_the_weights_at_once_at_every_look(monkeypatch, block, looks):
    monkeypatch.setattr("replay.statistics.resampling.BLOCK", block)
    blocks = WeightBlocks(10, resamples=33, seed=9)

    for _ in range(2):
        assert len(list(blocks)) == looks
        assert np.array_equal(np.vstack(list(blocks)), cluster_weights(10, resamples=33, seed=9))


def test_a_resample_without_observations_has_no_mean():
    weights = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
    sums, counts = np.array([[1.0, 0.0], [3.0, 3.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])

    means = resampled_means(sums, counts, weights)

    assert means[:, 0].tolist() == [2.0, 1.0, 3.0]
    assert means[[0, 2], 1].tolist() == [3.0, 3.0]
    assert np.isnan(means[1, 1])


@given(st.lists(st.lists(st.floats(0, 1), max_size=4), min_size=1, max_size=6), st.integers(0, 1000))
def test_the_fast_way_for_means_is_the_slow_way_for_anything(clusters, seed):
    weights = cluster_weights(len(clusters), resamples=20, seed=seed)
    sums = np.array([[sum(c)] for c in clusters])
    counts = np.array([[float(len(c))] for c in clusters])

    def mean(values):
        values = list(values)
        return sum(values) / len(values)

    slow = cluster_bootstrap(clusters, mean, weights)
    assert resampled_means(sums, counts, weights)[:, 0] == pytest.approx(slow, nan_ok=True)


def test_the_interval_is_the_middle_of_the_resampled_values():
    values = np.array([*range(101), np.nan])

    found = interval(values, method="percentile", confidence=0.9, conversations=9, estimate=50.0)
    assert found == Interval(low=5.0, high=95.0)


def _coverage(by_conversation: bool, trials: int) -> float:
    """
    How often a 95 % interval holds the true mean, when turns of a conversation go well or badly together.

    40 conversations of 5 turns; the conversation decides over 3/4 of a turn's variance.
    """
    rng = np.random.default_rng(7)
    conversations, turns, held = 40, 5, 0
    for trial in range(trials):
        values = (
            0.5 + 0.3 * rng.normal(size=(conversations, 1)) + 0.17 * rng.normal(size=(conversations, turns))
        )
        clusters = values if by_conversation else values.reshape(-1, 1)
        sums, counts = clusters.sum(axis=1, keepdims=True), np.full((len(clusters), 1), clusters.shape[1])
        weights = cluster_weights(len(clusters), resamples=300, seed=trial)
        means = resampled_means(sums, counts.astype(float), weights)[:, 0]
        settings = {"confidence": 0.95, "conversations": len(clusters), "estimate": float(means.mean())}
        found = interval(means, method="percentile", **settings)
        held += found.low <= 0.5 <= found.high
    return held / trials


def test_intervals_over_conversations_hold_the_truth_about_as_often_as_they_say():
    assert 0.89 <= _coverage(by_conversation=True, trials=300) <= 0.98


def test_intervals_over_turns_would_not():
    """Why whole conversations are drawn."""
    assert _coverage(by_conversation=False, trials=100) < 0.8


def test_no_clusters_and_no_resamples_are_no_mistake():
    assert cluster_weights(0, resamples=3, seed=0).shape == (3, 0)
    assert cluster_weights(3, resamples=0, seed=0).shape == (0, 3)
    with pytest.raises(ValueError, match=r"resamples \(3\) and clusters \(-1\) can't be negative"):
        cluster_weights(-1, resamples=3, seed=0)


@pytest.mark.parametrize(("block", "rows"), [(25, [2] * 16 + [1]), (9, [1] * 33), (10, [1] * 33)])
def test_a_block_holds_as_many_rows_as_fit_and_at_least_one(monkeypatch, block, rows):
    monkeypatch.setattr("replay.statistics.resampling.BLOCK", block)

    assert [len(some) for some in WeightBlocks(10, resamples=33, seed=9)] == rows


def test_weights_that_fit_are_drawn_once(monkeypatch):
    monkeypatch.setattr("replay.statistics.resampling.BLOCK", 330)
    blocks = WeightBlocks(10, resamples=33, seed=9)

    assert next(iter(blocks)) is next(iter(blocks))
