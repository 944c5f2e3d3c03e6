"""The interval for few conversations: by hand, by scipy, and how often it holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from replay.scorers.word_overlap import f1
from replay.statistics.depth_table import depth_table
from replay.statistics.interval import SAME, Interval, interval, t_ends
from replay.statistics.model_agreement import correlations
from replay.statistics.resampling import cluster_weights
from replay.statistics.score_column import score_columns
from tests.scorers.turns import turn

FIVE = np.array([0.4, 0.5, 0.7, 0.75, 0.9])


def resampled_means_of(values, *, resamples=200_000):
    return cluster_weights(len(values), resamples=resamples, seed=0) @ values / len(values)


def test_a_difference_is_scipys_t_interval_but_for_what_was_drawn():
    known = stats.t.interval(0.95, len(FIVE) - 1, FIVE.mean(), stats.sem(FIVE))
    found = t_ends(
        resampled_means_of(FIVE), FIVE.mean(), conversations=5, confidence=0.95, scale="difference"
    )

    assert found == pytest.approx(known, abs=2e-3)


def test_a_share_is_wilsons_interval_with_t_for_z():
    """Ten conversations of one turn, seven right: error^2 = .21/9, so nine cases; t = 2.262157."""
    resampled = 0.7 + math.sqrt(0.021) * np.array([-1.0, 1.0])
    t, cases = 2.262157, 9
    room = t * math.sqrt(0.21 / cases + t**2 / (4 * cases**2))
    whole = 1 + t**2 / cases
    known = ((0.7 + t**2 / (2 * cases) - room) / whole, (0.7 + t**2 / (2 * cases) + room) / whole)

    found = t_ends(resampled, 0.7, conversations=10, confidence=0.95, scale="share")
    assert found == pytest.approx(known, abs=1e-6)


@pytest.mark.parametrize(("share", "known"), [(1.0, (0.722467, 1.0)), (0.0, (0.0, 0.277533))])
def test_all_right_and_all_wrong_have_an_interval_in_which_a_conversation_is_one_case(share, known):
    """Wilson's of ten cases: 1/(1 + z^2/10) with z = 1.959964."""
    found = t_ends(np.full(50, share), share, conversations=10, confidence=0.95, scale="share")

    assert found == pytest.approx(known, abs=1e-6)


def test_a_signed_share_is_a_share_of_twice_the_length():
    resampled = np.array([0.1, 0.3, 0.5, 0.2])
    low, high = t_ends((1 + resampled) / 2, 0.65, conversations=6, confidence=0.9, scale="share")

    found = t_ends(resampled, 0.3, conversations=6, confidence=0.9, scale="signed share")
    assert found == pytest.approx((2 * low - 1, 2 * high - 1))


def test_skewness_moves_an_end_outwards_and_never_inwards():
    """Seconds whose one slow conversation says that there may be slower ones; turned round, the other end."""
    slow = resampled_means_of(np.array([1.0, 1.1, 1.2, 1.3, 4.0]))
    plain = t_ends(slow, 1.72, conversations=5, confidence=0.95, scale="difference")
    low, high = t_ends(slow, 1.72, conversations=5, confidence=0.95, scale="amount")

    assert low == plain[0]
    assert high > plain[1] + 1
    turned = t_ends(-slow, -1.72, conversations=5, confidence=0.95, scale="amount")
    assert turned == pytest.approx((-high, -low))


def test_the_skewness_of_few_is_corrected_for_bias():
    """
    Resampled 1, 1, 1, 5: spread sqrt(3), skewness 6/3^1.5, times sqrt(4 * 3)/2 for four conversations: 2.

    The error is 2, t = 3.182446; the upper end 2 - 2 (cbrt(1 + 2 (-t - 1/3)) - 1) / (2/3) = 10.4609.
    """
    found = t_ends(np.array([1.0, 1.0, 1.0, 5.0]), 2.0, conversations=4, confidence=0.95, scale="amount")

    assert found[1] == pytest.approx(10.4609, abs=1e-3)


def test_seconds_are_not_negative_and_what_can_be_is():
    few = np.array([0.1, 0.2, 4.0])
    settings = {"conversations": 3, "confidence": 0.95, "scale": "amount"}

    assert t_ends(resampled_means_of(few, resamples=500), few.mean(), **settings)[0] == 0
    assert t_ends(resampled_means_of(few - 1, resamples=500), few.mean() - 1, **settings)[0] < -1


def test_halls_transformation_by_hand():
    """Skewness k = .5 (corrected), t = 1.5: (cbrt(1 + .5 (1.5 - .5/6)) - 1) / (.5/3)."""
    from replay.statistics.interval import _invert_transform

    assert _invert_transform(1.5, 0.5) == pytest.approx(1.172581, abs=1e-6)
    back = 1.172581 + 0.5 * 1.172581**2 / 3 + 0.25 * 1.172581**3 / 27 + 0.5 / 6
    assert back == pytest.approx(1.5, abs=1e-5)
    assert _invert_transform(1.5, 0.0) == 1.5


@pytest.mark.parametrize("scale", ["signed share", "amount", "difference"])
def test_where_all_conversations_agree_nothing_is_known_of_others(scale):
    """A width of 0 would say that no other conversation could differ."""
    resampled = np.full(100, 0.1 + 0.2)
    found = interval(
        resampled, method="t", confidence=0.95, conversations=8, estimate=0.3, scale=scale
    )  # equal up to rounding

    assert found == SAME


def test_a_share_that_is_none_is_an_amount():
    """A rescaled score may be below 0, and a scorer of someone's own may forget to name its unit."""
    resampled = resampled_means_of(np.array([-0.4, -0.2, 0.1, 0.2]), resamples=500)
    settings = {"conversations": 4, "confidence": 0.95}

    assert t_ends(resampled, -0.075, scale="share", **settings) == t_ends(
        resampled, -0.075, scale="amount", **settings
    )


def test_a_depth_table_treats_shares_as_shares_and_says_what_its_intervals_are():
    records = [turn("Paris", "Paris", conversation=f"c{n}") for n in range(10)]
    table = depth_table(records, score_columns(records, {"f1": f1()}), {f"c{n}": 1 for n in range(10)})
    score = table.groups[0].total.scores["f1"]

    assert (score.value, score.low, score.high) == (1.0, pytest.approx(0.722467, abs=1e-6), 1.0)
    assert table.to_json()["interval"]["method"] == "Student's t (Wilson's where bounded) over conversations"


def test_a_correlation_of_few_items_stays_within_its_scale():
    found = correlations([1, 2, 3, 4, 5, 6], [1, 3, 2, 5, 4, 6], resamples=200)["pearson"]

    assert isinstance(found.interval, Interval)
    assert -1 <= found.interval.low < 0.5 < found.value < found.interval.high < 1


def _held(method, draw, truth, *, scale, conversations, data_sets=400):
    rng = np.random.default_rng(3)
    weights = cluster_weights(conversations, resamples=400, seed=0) / conversations
    held = 0
    for _ in range(data_sets):
        values = draw(rng)
        found = interval(
            weights @ values,
            method=method,
            confidence=0.95,
            conversations=conversations,
            estimate=float(values.mean()),
            scale=scale,
        )
        held += isinstance(found, Interval) and found.low <= truth <= found.high
    return held / data_sets


@pytest.mark.parametrize("conversations", [5, 10])
@pytest.mark.parametrize(
    ("scale", "truth", "draw"),
    [
        ("share", 0.8, lambda rng, n: (rng.random((n, 5)) < 0.8).mean(axis=1)),
        ("share", 0.95, lambda rng, n: (rng.random((n, 5)) < 0.95).mean(axis=1)),
        ("amount", 1.0, lambda rng, n: rng.exponential(size=(n, 5)).mean(axis=1)),
        ("difference", 0.1, lambda rng, n: 0.1 + rng.normal(size=n)),
    ],
)
def test_five_conversations_hold_the_truth_as_often_as_they_say(scale, truth, draw, conversations):
    """Percentile intervals hold it in 70 to 85 % of cases; `benchmarks/interval_coverage.py` has more."""
    case = {"scale": scale, "truth": truth, "conversations": conversations}
    few = _held("t", lambda rng: draw(rng, conversations), **case)

    assert few >= 0.92  # of 400 data sets
    assert few > _held("percentile", lambda rng: draw(rng, conversations), **case)
