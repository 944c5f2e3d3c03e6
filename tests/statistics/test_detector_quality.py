from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from replay.statistics.detector_quality import (
    NEITHER_FINDS,
    NO_PROBABILITY,
    NO_REWRITE,
    NO_VERDICTS,
    NONE_DETECTED,
    NONE_FOUND,
    DetectorCase,
    detector_quality_of,
)
from replay.statistics.interval import FEW, NO_RESAMPLES, SAME, Interval

LETTERS = {"h": (True, True), "f": (False, True), "m": (True, False), "-": (False, False)}


def judged(*rows: str) -> list[DetectorCase]:
    """A conversation each: a letter for each turn's hit, false alarm, miss or nothing at all."""
    return [
        DetectorCase(
            conversation=f"c{number}", depth=depth, truth=LETTERS[letter][0], detected=LETTERS[letter][1]
        )
        for number, row in enumerate(rows)
        for depth, letter in enumerate(row, 1)
    ]


def forecast(*pairs: tuple[float, bool]) -> list[DetectorCase]:
    return [
        DetectorCase(conversation=f"c{number}", truth=truth, probability=probability)
        for number, (probability, truth) in enumerate(pairs)
    ]


def shares(row) -> list[float]:
    return [number.value for number in (row.precision, row.recall, row.f1, row.accuracy)]


def test_verdicts_by_hand():
    """Three hits, one false alarm, two misses, two rightly passed over."""
    found = detector_quality_of(judged("hfm-", "hhm-"))
    total = found.total

    assert (total.true_positives, total.false_positives) == (3, 1)
    assert (total.false_negatives, total.true_negatives) == (2, 2)
    assert shares(total) == pytest.approx([3 / 4, 3 / 5, 2 * 3 / (2 * 3 + 1 + 2), 5 / 8])
    assert [row.depth for row in found.depths] == [1, 2, 3, 4]
    assert shares(found.depths[1]) == [0.5, 1.0, pytest.approx(2 / 3), 0.5]
    assert (total.precision.items, total.recall.items, total.accuracy.items) == (4, 5, 8)


def test_the_published_detector():
    """Li et al. (2022): precision and recall of 72 %, which makes an F1 of 72 %, whatever passes unseen."""
    total = detector_quality_of(judged(*["h"] * 18, *["f"] * 7, *["m"] * 7, *["-"] * 50)).total

    assert shares(total)[:3] == pytest.approx([0.72, 0.72, 0.72])


def test_intervals_resample_conversations_and_not_cases():
    alike, mixed = (
        detector_quality_of(judged(*rows)).total.precision.interval
        for rows in (["hhhh", "hhhh", "ffff", "hhhh"], ["hhhf", "hhfh", "hfhh", "ffhhhhhh"])
    )
    assert isinstance(alike, Interval)
    assert mixed == SAME  # three of four everywhere
    assert alike.low < 0.4


def test_a_probability_stands_for_a_verdict_where_there_is_none():
    cases = forecast((0.5, True), (0.4, False), (0.6, False))
    assert shares(detector_quality_of(cases).total) == pytest.approx([0.5, 1, 2 / 3, 2 / 3])
    assert shares(detector_quality_of(cases, threshold=0.6).total)[:2] == [0, 0]
    assert detector_quality_of([replace(cases[0], detected=False)]).total.false_negatives == 1


def test_what_is_left_out_is_counted():
    cases = [
        *judged("h"),
        DetectorCase(conversation="c1", truth=None, detected=True, probability=0.9, rewrite_right=True),
        DetectorCase(conversation="c2", truth=True),
    ]
    total = detector_quality_of(cases).total

    assert (total.undecided, total.undetected) == (1, 1)
    assert (total.true_positives, total.accuracy.items) == (1, 1)
    assert total.brier.value == NO_PROBABILITY
    assert (total.rewrites_right.value, total.rewrites_right.items) == (1, 1)


def test_rewrites_are_right_or_not_or_nobody_knows():
    cases = [
        DetectorCase(conversation=str(place // 2), truth=True, rewrite_right=right, depth=1 + place % 2)
        for place, right in enumerate([True, False, True, None, True, False])
    ]
    found = detector_quality_of(cases)

    assert found.total.rewrites_right.value == pytest.approx(3 / 5)
    assert [row.rewrites_right.value for row in found.depths] == [1, 0]
    assert [row.rewrites_right.items for row in found.depths] == [3, 2]


def test_calibration_by_hand():
    """
    Bins of a half: .1 and .5 with one of two true (.3 against .5), .8 and .9 and .7 with two of three.

    Their distances .2 and .8 - 2/3 weigh 2 and 3.
    """
    found = detector_quality_of(
        forecast((0.1, False), (0.8, True), (0.5, True), (0.9, True), (0.7, False)), bins=2
    )
    low, high = found.calibration

    assert (low.lowest, low.highest, low.mean_probability) == (0.1, 0.5, pytest.approx(0.3))
    assert (low.observed.value, low.observed.items) == (0.5, 2)
    assert (high.lowest, high.highest, high.mean_probability) == (0.7, 0.9, pytest.approx(0.8))
    assert high.observed.value == pytest.approx(2 / 3)
    assert found.calibration_error == pytest.approx((2 * 0.2 + 3 * (0.8 - 2 / 3)) / 5)
    assert found.total.brier.value == pytest.approx((0.1**2 + 0.2**2 + 0.5**2 + 0.1**2 + 0.7**2) / 5)


def test_bins_can_have_equally_many_cases_and_equal_probabilities_stay_together():
    many = forecast(*((place / 10, False) for place in range(8)))
    equal = forecast(*[(0.2, True)] * 5, (0.9, True))

    found = detector_quality_of(many, bins=4, binning="equal-count").calibration
    assert [(one.lowest, one.highest) for one in found] == [(0, 0.1), (0.2, 0.3), (0.4, 0.5), (0.6, 0.7)]
    found = detector_quality_of(equal, bins=4, binning="equal-count").calibration
    assert [(one.lowest, one.observed.items) for one in found] == [(0.2, 5), (0.9, 1)]


def test_nought_and_one_are_in_the_outermost_bins():
    found = detector_quality_of(forecast((0, False), (0.05, False), (0.95, True), (1, True)))

    assert [one.observed.items for one in found.calibration] == [2, 2]
    assert found.calibration_error == pytest.approx(0.025)


def test_what_is_not_there_has_a_reason():
    nothing = detector_quality_of([]).total
    assert shares(nothing) == [NO_VERDICTS] * 4
    assert (nothing.brier.value, nothing.rewrites_right.value) == (NO_PROBABILITY, NO_REWRITE)
    assert detector_quality_of([]).calibration_error == NO_PROBABILITY
    assert shares(detector_quality_of(judged("--")).total) == [NONE_DETECTED, NONE_FOUND, NEITHER_FINDS, 1]
    assert detector_quality_of(judged("hf")).total.precision.interval == FEW
    assert detector_quality_of(judged("h", "f"), resamples=0).total.precision.interval == NO_RESAMPLES


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_named(probability):
    with pytest.raises(ValueError, match=f'turn None of conversation "c0": probability {probability}'):
        detector_quality_of(forecast((probability, True)))
    with pytest.raises(ValueError, match="bins: 0"):
        detector_quality_of([], bins=0)


def test_json_is_plain_and_whole():
    cases = [*judged("hf", "hm"), *forecast((0.1, False))]
    found = json.loads(json.dumps(detector_quality_of(cases).to_json()))

    assert [row["depth"] for row in found["rows"]] == [1, 2, None]
    assert (found["rows"][-1]["true_positives"], found["rows"][-1]["precision"]["value"]) == (2, 2 / 3)
    assert found["rows"][0]["brier"]["undefined"] == NO_PROBABILITY.reason
    assert found["calibration"][0]["observed"]["value"] == 0
    assert found["calibration_error"] == pytest.approx(0.1)


CASES = st.lists(
    st.builds(
        DetectorCase,
        conversation=st.sampled_from("xyz"),
        truth=st.sampled_from([True, False, None]),
        detected=st.sampled_from([True, False, None]),
        probability=st.none() | st.floats(0, 1),
        rewrite_right=st.sampled_from([True, False, None]),
        depth=st.sampled_from([1, 2, None]),
    ),
    max_size=15,
)


@given(CASES, st.randoms(), st.sampled_from(["equal-width", "equal-count"]))
def test_every_case_is_counted_once_and_their_order_does_not_matter(cases, random, binning):
    found, again = (
        detector_quality_of(some, resamples=20, bins=3, binning=binning).to_json()
        for some in (cases, random.sample(cases, len(cases)))
    )
    total = found["rows"][-1]
    counts = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    assert sum(total[name] for name in (*counts, "undecided", "undetected")) == len(cases)
    assert sum(one["observed"]["items"] for one in found["calibration"]) == total["brier"]["items"]
    assert [{name: row[name] for name in counts} for row in found["rows"]] == [
        {name: row[name] for name in counts} for row in again["rows"]
    ]
    for one, other in zip(found["rows"], again["rows"], strict=True):
        for name in ("precision", "recall", "f1", "accuracy", "brier"):
            values = [np.nan if row[name]["value"] is None else row[name]["value"] for row in (one, other)]
            assert values[0] == pytest.approx(values[1], nan_ok=True)


def test_drawn_cases_stand_for_all():
    """
    Ten cases found, of which two were looked at, one of them real; ninety passed over, three looked at, one
    real: 5 hits, 5 false alarms, 30 misses, 60 rightly passed over.
    """
    found, passed = 10 / 2, 90 / 3
    cases = [replace(one, weight=found) for one in judged("h", "f")]
    cases += [replace(one, weight=passed) for one in judged("m", "-", "-")]
    total = detector_quality_of(cases).total

    assert shares(total) == pytest.approx([5 / 10, 5 / 35, 10 / (10 + 5 + 30), 65 / 100])
    assert (total.true_positives, total.true_negatives) == (1, 2)


@given(CASES, st.data())
def test_a_weight_is_so_many_equal_cases(cases, data):
    times = [data.draw(st.integers(1, 3)) for _ in cases]
    weighted, repeated = (
        detector_quality_of(some, resamples=20, bins=3)
        for some in (
            [replace(one, weight=times[place]) for place, one in enumerate(cases)],
            [one for place, one in enumerate(cases) for _ in range(times[place])],
        )
    )
    for one, other in zip(weighted.depths, repeated.depths, strict=True):
        for name in ("precision", "recall", "f1", "accuracy", "brier", "rewrites_right"):
            (left, right) = (getattr(row, name).to_json() for row in (one, other))
            for key in ("value", "low", "high"):
                assert left[key] == pytest.approx(right[key])
    for one, other in zip(weighted.calibration, repeated.calibration, strict=True):
        assert one.mean_probability == pytest.approx(other.mean_probability)
        assert one.weight == other.weight
    assert weighted.to_json()["calibration_error"] == pytest.approx(repeated.to_json()["calibration_error"])


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_weight_is_named(weight):
    case = DetectorCase(conversation="c", truth=True, probability=0.5, weight=weight, depth=2)
    with pytest.raises(ValueError, match='turn 2 of conversation "c": weight'):
        detector_quality_of([case])
