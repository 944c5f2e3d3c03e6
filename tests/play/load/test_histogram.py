"""Histograms of durations: as exact as they say, mergeable, and readable by other tools."""

from __future__ import annotations

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from replay.statistics.load.histogram import ERROR, HIGHEST_S, LOWEST_S, DurationHistogram

SHARES = (0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)


def durations(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(-3, 2, count).clip(LOWEST_S, HIGHEST_S)


def histogram(values: np.ndarray) -> DurationHistogram:
    counted = DurationHistogram()
    for value in values.tolist():
        counted.record(value)
    return counted


@pytest.mark.parametrize("count", [1, 2, 3, 10, 101, 20_000])
def test_quantiles_lie_within_the_stated_error_of_exact_ones_however_few_durations_there_are(count):
    values = durations(count)
    assert histogram(values).quantiles(SHARES) == pytest.approx(np.quantile(values, SHARES), rel=ERROR)


@pytest.mark.parametrize(
    "duration_s", [LOWEST_S, 1.2345e-5, 2.047e-5, 2.048e-5, 0.001, 0.5, 59.99, HIGHEST_S]
)
def test_every_duration_of_the_range_keeps_three_digits(duration_s):
    assert histogram(np.array([duration_s])).quantiles([0.5]) == pytest.approx([duration_s], rel=ERROR / 2)


def test_an_array_is_counted_as_its_durations_one_by_one():
    values = durations(5_000)
    at_once = DurationHistogram()
    at_once.record_all(np.append(values, np.nan))
    assert at_once.encode() == histogram(values).encode()


def test_buckets_are_those_of_hdrhistogram():
    values = durations(2_000)
    theirs = HdrHistogram(1, int(HIGHEST_S * 1e8), 3)
    for value in values.tolist():
        theirs.record_value(int(value * 1e8))
    ours = HdrHistogram.decode(histogram(values).encode())
    assert list(ours.counts) == list(theirs.counts)
    assert ours.get_value_at_percentile(99) == theirs.get_value_at_percentile(99)


def test_merged_histograms_say_what_one_over_all_says():
    parts = [durations(500, seed) for seed in range(4)]
    merged = DurationHistogram()
    for part in parts:
        merged.merge(histogram(part))
    assert merged.encode() == histogram(np.concatenate(parts)).encode()
    assert merged.count == 2_000


def test_a_decoded_histogram_is_the_encoded_one():
    counted = histogram(durations(3_000))
    decoded = DurationHistogram.decode(counted.encode())
    assert decoded.quantiles(SHARES) == counted.quantiles(SHARES)
    assert decoded.count == 3_000
    assert DurationHistogram.decode(DurationHistogram().encode()).count == 0


@pytest.mark.parametrize("text", ["", "nonsense", "HISTFAAAABx4nJNpmSzMwMDAxQABzFCaEUoz2X+AsQA/awK8"])
def test_what_is_no_such_histogram_is_refused(text):
    with pytest.raises(ValueError, match="histogram"):
        DurationHistogram.decode(text)


def test_durations_beyond_the_range_are_counted_at_its_ends_and_stay_known_when_encoded():
    counted = histogram(np.array([-1.0, 0.0, 1e-6, 0.1, 4_000.0, 1e12]))
    decoded = DurationHistogram.decode(counted.encode())
    ends = [LOWEST_S, LOWEST_S, LOWEST_S, 0.1, HIGHEST_S, HIGHEST_S]
    assert counted.quantiles([0, 0.2, 0.4, 0.6, 0.8, 1]) == pytest.approx(ends, rel=ERROR)
    assert decoded.quantiles([0, 0.2, 0.4, 0.6, 0.8, 1]) == pytest.approx(ends, rel=ERROR)


def test_nothing_counted_has_no_quantiles_and_no_mean():
    assert DurationHistogram().quantiles([0.5]) is None
    assert DurationHistogram().mean_s() is None


def test_the_mean_is_within_the_error():
    values = durations(10_000)
    assert histogram(values).mean_s() == pytest.approx(values.mean(), rel=ERROR)
