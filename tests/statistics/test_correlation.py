from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from replay.statistics.interval import Interval, UndefinedNumber
from replay.statistics.model_agreement import correlations

RATINGS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=15)


@given(RATINGS)
def test_the_coefficients_are_scipys(pairs):
    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found = correlations(x, y, resamples=0)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert isinstance(found["pearson"].value, UndefinedNumber)
        return

    assert found["pearson"].value == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert found["spearman"].value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert found["kendall"].value == pytest.approx(stats.kendalltau(x, y, variant="b").statistic, abs=1e-12)


def test_kendalls_tau_b_by_hand():
    """1 2 2 3 and 1 2 3 3: of six pairs four agree, one is tied in each: 4 / sqrt(5 * 5)."""
    assert correlations([1, 2, 2, 3], [1, 2, 3, 3], resamples=0)["kendall"].value == pytest.approx(0.8)


def test_what_cannot_be_correlated_has_a_reason():
    assert correlations([1, 1, 1], [1, 2, 3])["pearson"].value == UndefinedNumber(
        reason="all scores are equal"
    )
    assert correlations([1, 2, 3], [2, 2, 2])["kendall"].value == UndefinedNumber(
        reason="all ratings are equal"
    )
    assert correlations([1], [2])["spearman"].value == UndefinedNumber(reason="fewer than two items")
    assert correlations([], [])["spearman"].items == 0
    with pytest.raises(ValueError, match="finite"):
        correlations([1, float("nan")], [1, 2])
    with pytest.raises(ValueError, match="correlated"):
        correlations([1, 2], [1, 2, 3])


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_hold_the_value_and_repeat(method):
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    found = correlations(x, y, resamples=60, method=method)

    for one in found.values():
        assert isinstance(one.interval, Interval)
        assert one.interval.low < one.value < one.interval.high
    assert found == correlations(x, y, resamples=60, method=method)
    other = correlations(x, y, resamples=60, seed=1, method=method)
    assert found["pearson"].interval != other["pearson"].interval
    json.dumps([one.to_json() for one in found.values()], allow_nan=False)


def test_items_of_one_group_are_drawn_together():
    """Forty copies of five items know no more than the five."""
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0] * 40, [2.0, 1.0, 3.0, 5.0, 4.0] * 40
    groups = [n % 5 for n in range(200)]
    alone, together = (correlations(x, y, clusters=c, resamples=100)["pearson"] for c in (None, groups))

    assert alone.value == together.value
    assert together.clusters == 5
    width = [one.interval.high - one.interval.low for one in (alone, together)]
    assert width[1] > 4 * width[0]


def test_one_group_has_no_interval():
    found = correlations([1, 2, 3], [1, 3, 2], clusters=["a", "a", "a"], resamples=20)["pearson"]

    assert found.value == pytest.approx(0.5)
    assert found.interval == UndefinedNumber(reason="fewer than two independent items")


def test_the_order_of_items_does_not_move_a_coefficient():
    x, y = [1.0, 5.0, 2.0, 4.0], [2.0, 4.0, 1.0, 5.0]
    found, back = (correlations(a, b, resamples=0) for a, b in ((x, y), (x[::-1], y[::-1])))

    assert {n: c.value for n, c in found.items()} == pytest.approx({n: c.value for n, c in back.items()})


def test_rounding_makes_no_coefficient_larger_than_one():
    """Unclipped, of 0.1, 0.2, 0.4 and three times as much it would be 1.0000000000000002."""
    x = np.array([0.1, 0.2, 0.4])

    assert correlations(x, 3 * x, resamples=0)["pearson"].value == 1.0
    assert correlations(x, -3 * x, resamples=0)["pearson"].value == -1.0
