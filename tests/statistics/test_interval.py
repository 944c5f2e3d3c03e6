from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from replay.scorers.word_overlap import f1
from replay.statistics.depth_table import depth_table
from replay.statistics.interval import Interval, UndefinedNumber, bca_interval, interval
from replay.statistics.resampling import cluster_weights, jackknifed_means, jackknifed_values, resampled_means
from replay.statistics.score_column import ScoreColumn, score_columns
from tests.scorers.turns import turn
from tests.statistics.spread import LongestAnswer

SKEWED = np.array([0.1, 0.2, 0.2, 0.3, 0.4, 0.4, 0.5, 0.9, 1.7, 4.2])


def left_out(values):
    return (values.sum() - values) / (len(values) - 1)


def test_bca_is_scipys():
    """On the very resamples that scipy drew."""
    found = stats.bootstrap(
        (SKEWED,), np.mean, method="BCa", n_resamples=2000, rng=np.random.default_rng(3), vectorized=True
    )
    ours = bca_interval(found.bootstrap_distribution, SKEWED.mean(), left_out(SKEWED), 0.95)

    assert isinstance(ours, Interval)
    assert (ours.low, ours.high) == pytest.approx(tuple(found.confidence_interval), rel=1e-9)


def test_bca_by_hand():
    """
    Jackknifed 0, 0, 3: pulls 1, 1, -2, so a = -6 / (6 * 6^1.5) = -0.068041.

    Half of the resamples lie below the estimate, so z0 = 0, and the ends go to the quantiles
    Phi(z / (1 - a z)) at z = -+1.959964: Phi(-2.261594) = 0.011862 and Phi(1.729320) = 0.958124.
    """
    resampled = np.arange(1001) / 1000
    found = bca_interval(resampled, 0.5, np.array([0.0, 0.0, 3.0]), 0.95)

    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((0.011862, 0.958124), abs=2e-6)


def test_without_bias_and_skew_bca_is_the_percentile_interval():
    resampled = np.linspace(-1, 1, 2001)
    settings = {"confidence": 0.9, "conversations": 4, "estimate": 0.0}
    jackknifed = np.array([-1.0, -0.5, 0.5, 1.0])

    plain = interval(resampled, method="percentile", **settings)
    assert interval(resampled, method="bca", jackknifed=jackknifed, **settings) == plain


@pytest.mark.parametrize(
    ("resampled", "estimate", "jackknifed", "reason"),
    [
        ([1.0, 1.0], 1.0, [1.0, 1.0, 1.0], "changes nothing"),
        ([0.1, 0.2], 0.5, [0.4, 0.6], "one side"),
        ([0.1, 0.2], 0.05, [0.4, 0.6], "one side"),
        ([np.nan, np.nan], 0.5, [0.4, 0.6], "no resample"),
        ([0.0, 1.0], 0.5, [0.5, np.nan], "changes nothing"),
    ],
)
def test_where_bca_has_no_value_there_is_a_reason_and_no_other_interval(
    resampled, estimate, jackknifed, reason
):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bca_interval(np.array(resampled), estimate, np.array(jackknifed), 0.95)

    assert isinstance(found, UndefinedNumber)
    assert reason in found.reason


def test_other_reasons_for_no_interval():
    values = np.array([0.1, 0.2])
    settings = {"method": "percentile", "confidence": 0.95}

    assert interval(values, conversations=1, estimate=0.1, **settings) == UndefinedNumber(
        reason="fewer than two conversations"
    )
    assert interval(values[:0], conversations=5, estimate=0.1, **settings) == UndefinedNumber(
        reason="no resamples"
    )


def test_resampled_values_equal_to_the_estimate_up_to_rounding_count_half():
    """0.1 + 0.2 is not 0.3 in floating point, and a third of all resamples may be equal."""
    resampled = np.array([0.1 + 0.2] * 50 + [0.3] * 50 + [0.2] * 10 + [0.4] * 10)
    exact = np.array([0.3] * 100 + [0.2] * 10 + [0.4] * 10)
    jackknifed = np.array([0.1, 0.3, 0.5])

    assert bca_interval(resampled, 0.3, jackknifed, 0.9) == bca_interval(exact, 0.3, jackknifed, 0.9)


def test_the_jackknife_leaves_out_one_conversation_with_all_its_turns():
    sums, counts = np.array([[3.0], [1.0], [0.0]]), np.array([[2.0], [1.0], [0.0]])

    assert jackknifed_means(sums, counts)[:, 0].tolist() == [1.0, 1.5, 4 / 3]
    assert np.isnan(jackknifed_means(sums[:1], counts[:1])).all()


def test_the_fast_jackknife_is_the_slow_one():
    records = [
        turn("a b c"[: 1 + 2 * (n % 3)], "a b", depth=1 + n % 2, conversation=f"c{n // 2}") for n in range(8)
    ]
    clusters = [n // 2 for n in range(8)]
    column = score_columns(records, {"f1": f1()})["f1"]
    cells = [list(range(8)), [0, 2, 4], [1]]

    class Slow:
        def combine(self, observed):
            return f1().combine(observed)

    slow = type(column)(scorer=Slow(), observed=column.observed)
    assert not slow.is_mean
    assert jackknifed_values(slow, cells, clusters=clusters, count=4) == pytest.approx(
        jackknifed_values(column, cells, clusters=clusters, count=4), nan_ok=True
    )


def _coverage(method) -> float:
    """How often an interval for the mean of a skewed score over 25 conversations holds the truth."""
    rng = np.random.default_rng(11)
    held, trials = 0, 300
    for trial in range(trials):
        values = rng.exponential(size=25)
        weights = cluster_weights(25, resamples=400, seed=trial)
        resampled = resampled_means(values.reshape(-1, 1), np.ones((25, 1)), weights)[:, 0]
        found = interval(
            resampled,
            method=method,
            confidence=0.95,
            conversations=25,
            estimate=values.mean(),
            jackknifed=left_out(values),
        )
        assert isinstance(found, Interval)
        held += found.low <= 1.0 <= found.high
    return held / trials


def test_bca_holds_the_truth_of_a_skewed_score_at_least_as_often_as_the_percentile_interval():
    percentile, bca = _coverage("percentile"), _coverage("bca")

    assert 0.87 <= percentile <= bca <= 0.98


def test_a_depth_table_can_have_bca_intervals_and_says_so():
    records = [turn("Paris" if n % 4 else "Rome", "Paris", conversation=f"c{n:02}") for n in range(12)]
    records += [turn("Paris", "Paris", depth=2, conversation=f"c{n:02}") for n in range(12)]
    scores = score_columns(records, {"f1": f1(), "long": LongestAnswer()})
    table = depth_table(records, scores, {f"c{n:02}": 2 for n in range(12)}, method="bca")
    first, second = table.groups[0].depths

    assert table.to_json()["interval"]["method"] == "BCa bootstrap over conversations"
    assert 0.3 < first.scores["f1"].low < first.scores["f1"].value < first.scores["f1"].high < 1
    assert first.scores["f1"].no_interval is None
    assert (second.scores["f1"].low, second.scores["f1"].high) == (None, None)
    assert "changes nothing" in second.scores["f1"].no_interval


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.1])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ValueError, match=f"confidence: {confidence} is not between 0 and 1"):
        interval(np.ones(3), method="bca", confidence=confidence, conversations=3, estimate=1.0)


def test_two_conversations_are_enough_and_bca_needs_what_was_left_out():
    settings = {"confidence": 0.5, "conversations": 2, "estimate": 0.5}

    assert interval(np.array([0.0, 1.0]), method="percentile", **settings) == Interval(low=0.25, high=0.75)
    with pytest.raises(ValueError, match="BCa needs the jackknifed values"):
        interval(np.array([0.0, 1.0]), method="bca", **settings)
    assert interval(
        np.array([0.0, 1.0]), method="percentile", **{**settings, "estimate": None}
    ) == UndefinedNumber(reason="the score has no value over these turns")
    assert interval(np.array([np.nan]), method="percentile", **settings) == UndefinedNumber(
        reason="no resample has a value"
    )


def test_a_skew_and_a_bias_that_turn_the_ends_around_leave_no_interval():
    """One of a thousand resamples lies above the estimate, and one conversation makes all the skew."""
    resampled = np.array([0.0] * 999 + [1.0])
    outlier = np.array([0.0] * 999 + [-1000.0])

    found = bca_interval(resampled, 0.5, outlier, 1 - 1e-9)
    assert found == UndefinedNumber(reason="the acceleration is too large")
    assert isinstance(bca_interval(resampled, 0.5, outlier, 0.9), Interval)


def test_the_fast_and_the_slow_jackknife_pass_over_cells_without_a_turn():
    column = ScoreColumn(scorer=LongestAnswer(), observed=[3, 5, 4])
    found = jackknifed_values(column, [[], [0, 1, 2]], clusters=[0, 1, 1], count=3)

    assert np.isnan(found[:, 0]).all()
    assert found[:, 1].tolist() == [5.0, 3.0, 5.0]  # the third conversation has no part in it
