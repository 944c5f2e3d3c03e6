from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from replay.statistics.resampling import SLOW_PERMUTATIONS, SignFlipTest, sign_flip, sign_flip_means


def only(differences, permutations=10_000, seed=0):
    (test,) = sign_flip_means(
        np.array(differences, dtype=float).reshape(-1, 1), permutations=permutations, seed=seed
    )
    return test


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def test_three_conversations_by_hand():
    """Of the eight sign patterns of 1, 2, 4 only +++ and --- reach 7 in size: p = 2/8."""
    found = only([1, 2, 4])

    assert (found.p, found.exact, found.permutations, found.conversations) == (0.25, True, 8, 3)


def test_four_conversations_by_hand():
    """1, 2, 3, -1 sum to 5; of 16 patterns ++++ (7), +++- (5), -+++ (5) and their opposites reach it."""
    assert only([1, 2, 3, -1]).p == 6 / 16


def test_conversations_without_a_difference_change_nothing():
    assert only([1, 0, 2, 0, 4, 0]) == only([1, 2, 4])
    assert only([0, 0]).p == 1.0


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_the_exact_test_is_fair_to_both_sides_and_blind_to_order(differences):
    found = only(differences)

    assert found.exact
    assert only([-d for d in differences]) == found
    assert only(sorted(differences)) == found
    assert 2 / 2 ** len(differences) <= found.p <= 1


def test_drawn_swaps_come_near_the_exact_value_and_never_to_zero():
    differences = [0.3, -0.1, 0.4, 0.2, -0.3, 0.5, 0.1, 0.1, -0.2, 0.6, 0.2, 0.1]
    exact, drawn = only(differences), only(differences, permutations=4000)

    assert exact.exact
    assert not drawn.exact
    assert drawn.p == pytest.approx(exact.p, abs=0.02)
    assert drawn == only(differences, permutations=4000)
    assert only([1.0] * 40, permutations=99).p == 0.01


def test_a_column_does_not_feel_its_neighbours():
    rng = np.random.default_rng(0)
    differences = rng.normal(size=(30, 3)) + 0.2
    together = sign_flip_means(differences, permutations=500, seed=5)

    assert [only(differences[:, n], 500, 5) for n in range(3)] == together


def test_under_no_difference_small_p_values_are_as_rare_as_they_say():
    rng = np.random.default_rng(3)
    tests = sign_flip_means(rng.normal(size=(20, 600)), permutations=400, seed=1)
    rejected = sum(test.p <= 0.05 for test in tests) / len(tests)

    assert 0.03 <= rejected <= 0.07


def test_any_score_can_be_tested_and_a_mean_gives_the_same():
    """Two conversations of two turns and one of one: differences 1, 3, -1; six of eight reach 3."""
    first, second = [[1, 1], [0, 0], [2]], [[1, 2], [1, 2], [1]]
    slow = sign_flip(first, second, mean, permutations=10_000, seed=0)

    assert slow.p == only([1, 3, -1]).p == 6 / 8
    assert slow.exact
    assert sign_flip([[]], [[]], mean, permutations=10, seed=0) is None


def test_a_slow_score_gets_fewer_swaps_and_says_so():
    first, second = [[0.0]] * 30, [[1.0]] * 30
    found = sign_flip(first, second, max, permutations=10_000, seed=0)

    assert (found.permutations, found.exact) == (SLOW_PERMUTATIONS, False)


def test_a_score_without_a_value_has_no_test():
    assert sign_flip([[0]], [[1]], lambda observed: float("nan"), permutations=10, seed=0) is None


def test_swaps_are_looked_at_one_by_one_as_long_as_there_are_no_more_than_may_be():
    assert only([1, 2, 4], permutations=8) == only([1, 2, 4])
    drawn = only([1, 2, 4], permutations=7)
    assert (drawn.exact, drawn.permutations, drawn.conversations) == (False, 7, 3)

    first, second = [[0], [0], [0], [5]], [[1], [2], [4], [5]]
    assert sign_flip(first, second, mean, permutations=8, seed=0).exact
    slow = sign_flip(first, second, mean, permutations=7, seed=0)
    assert (slow.exact, slow.permutations, slow.conversations) == (False, 7, 3)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_p_value_does_not_depend_on_the_unit(scale):
    """Sums that are equal but for rounding count as equal, and others don't, however large or small."""
    differences = [0.1 * scale, 0.2 * scale, 0.3 * scale, -0.3 * scale, 0.7 * scale]

    assert only(differences).p == only([1, 2, 3, -3, 7]).p == 12 / 32


def test_a_slow_score_in_large_units_is_forgiven_its_rounding():
    sides = [[0.0]] * 5, [[0.1e12], [0.2e12], [0.3e12], [-0.3e12], [0.7e12]]

    assert sign_flip(*sides, mean, permutations=100, seed=0).p == 12 / 32


def test_drawn_swaps_are_the_same_in_every_release():
    differences = [0.3, -0.1, 0.4, 0.2, -0.3, 0.5, 0.1, 0.1, -0.2, 0.6, 0.2, 0.1]
    slow = sign_flip([[0.0]] * 12, [[d] for d in differences], mean, permutations=99, seed=4)

    assert only(differences, permutations=2000, seed=4).p == 173 / 2001
    assert (slow.p, slow.permutations) == (7 / 100, 99)


def test_swapping_to_no_value_is_as_far_off_as_can_be():
    """Precision is not defined where nothing was predicted."""

    def share(observed):
        some = [value for value in observed if value is not None]
        return sum(some) / len(some) if some else float("nan")

    found = sign_flip([[0], [None]], [[1], [None]], share, permutations=10, seed=0)
    assert (found.p, found.permutations, found.conversations) == (1.0, 2, 1)
    # Of 1 against 0, swapping the second conversation leaves one side without a value.
    assert sign_flip([[0], [1]], [[None], [1]], share, permutations=10, seed=0).p == 1.0


def test_as_many_swaps_are_drawn_as_were_asked_for():
    """Of one conversation every swap is as far from 0 as what was found."""
    assert only([1.0], permutations=1) == SignFlipTest(p=1.0, exact=False, permutations=1, conversations=1)
    for permutations in (1023, 1024, 1025, 2049):
        many = [1.0] + [1e-30] * 12  # as far, whatever the small ones say
        assert only(many, permutations=permutations).p == 1.0
