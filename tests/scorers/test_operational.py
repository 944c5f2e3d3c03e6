from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given, strategies as st

from replay.core.record import Timing, Usage
from replay.scorers.operational import (
    completion_tokens,
    cost,
    latency,
    prompt_tokens,
    quantile_of,
    ttft,
)
from replay.scorers.scorer import Unscored, unit_of
from replay.testing import ScorerContract
from tests.scorers.turns import skipped_turn, turn

ALL = [latency, ttft, prompt_tokens, completion_tokens, cost]


def measured(latency_s: float, **changes):
    """An answered turn that has everything measured, in proportion to its latency."""
    facts = {
        "timing": Timing(
            scheduled_s=0.0, sent_s=1.0, done_s=1.0 + latency_s, first_token_s=1.0 + latency_s / 2
        ),
        "usage": Usage(prompt_tokens=round(100 * latency_s), completion_tokens=round(10 * latency_s)),
        "cost_usd": latency_s / 1000,
    }
    return turn(**{**facts, **changes})


class TestOperationalScorersKeepTheContract(ScorerContract):
    @pytest.fixture(params=[factory(q) for factory in ALL for q in (None, 0.95)], ids=lambda s: s.signature)
    def scorer(self, request):
        return request.param

    @pytest.fixture
    def records(self):
        return [
            measured(1.0, depth=1),
            measured(2.5, depth=2),
            measured(4.0, depth=3, usage=None, timing=None, cost_usd=None),
            measured(9.0, depth=4, answer=None, outcome="timed-out"),
            skipped_turn(depth=5),
        ]


@pytest.mark.parametrize(
    ("factory", "value", "unit"),
    [
        (latency, 2.0, "s"),
        (ttft, 1.0, "s"),
        (prompt_tokens, 200.0, "tokens"),
        (completion_tokens, 20.0, "tokens"),
        (cost, 0.002, "usd"),
    ],
)
def test_each_is_read_from_the_record_in_its_unit(factory, value, unit):
    assert factory().observe([measured(2.0)]) == [pytest.approx(value)]
    assert unit_of(factory()) == unit


def test_what_a_record_lacks_is_unscored_and_says_what():
    bare = turn(timing=Timing(scheduled_s=0.0, sent_s=0.0, done_s=1.0), usage=Usage(prompt_tokens=3))

    reasons = [o.reason for f in ALL for o in f().observe([bare]) if isinstance(o, Unscored)]
    assert reasons == [
        "no time of a first token reported",
        "no completion tokens reported",
        "no cost reported",
    ]
    assert latency().observe([turn(timing=None)]) == [Unscored(reason="no latency in the record")]


def test_a_turn_without_a_gold_answer_has_a_latency():
    assert latency().observe([turn("yes")]) == [0.5]


@pytest.mark.parametrize(
    ("values", "share", "value"),
    [
        ([1, 2, 3, 4], 0.5, 2.5),
        ([3, 1, 2], 0.5, 2),
        ([1, 2, 3, 4], 0.95, 4),
        ([1, 2, 3, 4], 0, 1),
        ([1, 2, 3, 4], 1, 4),
        (range(1, 101), 0.07, 7.5),
        (range(1, 101), 0.95, 95.5),
    ],
)
def test_quantiles(values, share, value):
    assert quantile_of(values, share) == value


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=40),
    st.sampled_from([0.0, 0.07, 0.3, 0.5, 0.9, 0.95, 1.0]),
)
def test_quantiles_are_numpys_second_definition(values, share):
    published = numpy.quantile(values, share, method="averaged_inverted_cdf")

    assert quantile_of(values, share) == pytest.approx(float(published))


@pytest.mark.parametrize("share", [0, 0.07, 0.25, 0.5, 0.95, 1])
def test_quantiles_of_all_resamples_at_once_are_those_of_each(share):
    """Also where a resample has no value, every value, or ends between two of them."""
    values = [9.0, 1.0, 4.0, 2.0]
    weights = numpy.array(
        [[1, 1, 1, 1], [0, 2, 0, 2], [4, 0, 0, 0], [0, 0, 3, 1], [1, 2, 0, 1], [0, 0, 0, 0]]
    )
    *found, nothing = latency(quantile=share).combine_resampled(values, [0, 1, 2, 3], weights)

    drawn = [[v for v, times in zip(values, row, strict=True) for _ in range(times)] for row in weights[:-1]]
    assert found == [quantile_of(some, share) for some in drawn]
    assert math.isnan(nothing)


@pytest.mark.parametrize("at_once", [1, 6])
def test_resamples_are_taken_a_few_at_a_time(monkeypatch, at_once):
    weights = numpy.random.default_rng(0).multinomial(3, [1 / 3] * 3, 7)
    given = [1.0, 2.0, 9.0], [0, 1, 2], weights
    whole = latency(quantile=0.5).combine_resampled(*given)
    monkeypatch.setattr("replay.scorers.operational.RESAMPLED_AT_ONCE", at_once)

    assert latency(quantile=0.5).combine_resampled(*given).tolist() == whole.tolist()


@pytest.mark.parametrize("quantile", [0, 0.0, 0.5, 1])
def test_a_quantile_may_be_either_end(quantile):
    assert latency(quantile=quantile).combine([1.0, 2.0]) == 1 + quantile
    with pytest.raises(ValueError, match=r"quantile: -0\.01 is not between 0 and 1"):
        latency(quantile=-0.01)


@pytest.mark.parametrize("factory", ALL)
def test_a_quantile_is_no_mean(factory):
    assert factory().is_mean
    assert not factory(quantile=0.5).is_mean
    assert factory(quantile=0.5).combine([1.0, 2.0, 9.0]) == 2
    without_resamples = numpy.zeros((0, 3), dtype=numpy.int64)
    assert len(factory(quantile=0.5).combine_resampled([1.0, 2.0, 9.0], [0, 1, 2], without_resamples)) == 0
    with pytest.raises(ValueError, match="quantile: 95"):
        factory(quantile=95)


def test_the_signatures_name_the_quantile_and_the_unit():
    assert latency().signature == "latency:mean|unit:s"
    assert cost(quantile=0.95).signature == "cost:q0.95|unit:usd"
