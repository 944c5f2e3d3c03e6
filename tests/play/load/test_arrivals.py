"""Arrival processes: their laws, with seeded generators and without a clock."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import islice, pairwise, takewhile

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kstest, pearsonr, poisson

from replay.play.load.arrivals import constant_arrivals, poisson_arrivals, ramp_up

UNLIKELY = 1e-3
"""A test of a law fails below this p-value. Seeds are fixed, so none fails by chance; none was chosen."""


def until(arrivals, end_s):
    return list(takewhile(lambda at: at < end_s, arrivals))


def test_constant_arrivals_are_evenly_spaced():
    assert list(islice(constant_arrivals(4), 5)) == [0, 0.25, 0.5, 0.75, 1]


def test_constant_arrivals_do_not_drift():
    """A sum of a million gaps of 0.1 s would be 1.6e-6 s off."""
    assert next(islice(constant_arrivals(10), 1_000_000, None)) == 100_000


def test_poisson_gaps_are_exponential():
    gaps = np.diff(list(islice(poisson_arrivals(5, random.Random(1)), 20_000)), prepend=0.0)

    assert kstest(gaps, "expon", args=(0, 1 / 5)).pvalue > UNLIKELY
    assert gaps.mean() == pytest.approx(0.2, rel=0.03)
    assert gaps.var() == pytest.approx(0.04, rel=0.05)
    assert pearsonr(gaps[:-1], gaps[1:]).pvalue > UNLIKELY


def test_poisson_counts_in_windows_have_the_mean_and_variance_of_the_law():
    counts = Counter(int(at / 2) for at in until(poisson_arrivals(3, random.Random(2)), 10_000))
    found = np.array([counts[window] for window in range(5_000)])

    assert found.mean() == pytest.approx(6, rel=0.02)
    assert found.var() == pytest.approx(6, rel=0.05)
    assert (found <= 4).mean() == pytest.approx(poisson.cdf(4, 6), abs=0.02)


def test_the_same_seed_gives_the_same_arrivals_and_another_seed_others():
    first, same, other = (list(islice(poisson_arrivals(1, random.Random(seed)), 100)) for seed in (1, 1, 2))
    assert first == same
    assert first != other


@pytest.mark.parametrize("ramp_s", [0.0, 3.0, 10.0])
def test_a_ramp_lets_as_many_through_as_its_rate_adds_up_to(ramp_s):
    """R t^2 / (2 ramp) by t in the ramp, R (t - ramp / 2) after it."""
    rate = 200.0
    at = until(ramp_up(constant_arrivals(rate), ramp_s), 20)
    for t in (0.5, 1, 2, 2.9, 3.1, 5, 9.9, 10.1, 19.9):
        due = rate * t**2 / (2 * ramp_s) if t < ramp_s else rate * (t - ramp_s / 2)
        assert sum(a < t for a in at) == pytest.approx(due, abs=1.001)


def test_a_ramped_poisson_process_is_poisson_with_the_rising_rate():
    """Given their number, arrivals within the ramp are independent with density 2 t / ramp^2."""
    at = np.array(until(ramp_up(poisson_arrivals(2000, random.Random(3)), 10), 15))
    within, after = at[at < 10], at[at >= 10]

    assert len(within) == pytest.approx(10_000, abs=3 * 100)
    assert len(after) == pytest.approx(10_000, abs=3 * 100)
    assert kstest(within, lambda t: np.clip(t, 0, 10) ** 2 / 100).pvalue > UNLIKELY
    assert kstest(after, "uniform", args=(10, 5)).pvalue > UNLIKELY


def test_without_a_ramp_arrivals_stay_as_they_are():
    assert list(ramp_up([0.0, 0.1, 7.3], 0)) == [0.0, 0.1, 7.3]


@given(
    st.floats(1e-3, 1e6),
    st.one_of(st.just(0.0), st.floats(1e-3, 1e6)),
    st.one_of(st.none(), st.integers(0, 2**32)),
)
def test_arrivals_never_go_back(rate, ramp_s, seed):
    arrivals = constant_arrivals(rate) if seed is None else poisson_arrivals(rate, random.Random(seed))
    at = list(islice(ramp_up(arrivals, ramp_s), 200))
    assert at[0] >= 0
    assert all(a <= b and math.isfinite(b) for a, b in pairwise(at))
