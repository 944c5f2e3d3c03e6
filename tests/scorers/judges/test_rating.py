"""Ratings out of log-probabilities and samples (checklist D)."""

from __future__ import annotations

import math

import pytest

from replay.core.adapter import TokenLogprobs
from replay.scorers.judges.reading import (
    CANT_EVALUATE,
    TOO_FEW,
    UNREADABLE,
    SampledRating,
    WeightedRating,
    weighted_rating,
)


def digits(text: str, chances: dict[str, float]) -> TokenLogprobs:
    top = tuple((name, math.log(p)) for name, p in chances.items())
    return TokenLogprobs(token=text, logprob=-0.1, top=top)


def rated(*tokens: TokenLogprobs) -> WeightedRating:
    found = weighted_rating(tokens, 1, 5, label="naturalness")
    assert isinstance(found, WeightedRating)
    return found


def test_the_mean_is_weighted_by_probability():
    """0.6 * 5 + 0.3 * 4 + 0.1 * 3 = 4.5."""
    found = rated(digits("5", {"5": 0.6, "4": 0.3, "3": 0.1}))

    assert found.value == pytest.approx(4.5)
    assert found.mass == pytest.approx(1.0)


def test_other_tokens_are_left_out_and_the_rest_brought_to_one():
    found = rated(digits("5", {"5": 0.4, " 5": 0.2, "Sure": 0.2, "3": 0.2, "9": 0.0001}))

    assert found.value == pytest.approx((5 * 0.6 + 3 * 0.2) / 0.8)
    assert found.mass == pytest.approx(0.8)


def test_the_rating_is_taken_where_it_stands():
    found = rated(
        digits("- Natural", {"- Natural": 1.0}),
        digits("ness", {"ness": 1.0}),
        digits(": ", {": ": 0.9, "1": 0.1}),
        digits("4", {"4": 0.5, "2": 0.5}),
    )

    assert found.value == pytest.approx(3.0)


def test_zero_cant_be_evaluated_and_prose_cant_be_read():
    assert weighted_rating([digits("0", {"0": 0.9, "3": 0.1})], 1, 5, label="x") is CANT_EVALUATE
    assert weighted_rating([digits("Well", {"Well": 0.9, "3": 0.1})], 1, 5, label="x") is UNREADABLE


def test_a_mean_of_samples_leaves_out_what_cant_be_read():
    """Never as 0: that would be a rating below the worst."""
    sampled = SampledRating(ratings=(5, 4, None, 0, 3))

    assert sampled.value == 4.0
    assert (sampled.rated, sampled.unreadable, sampled.zeros) == (3, 1, 1)


def test_samples_without_ratings_are_unscored():
    assert SampledRating(ratings=(None, None)).value is UNREADABLE
    assert SampledRating(ratings=(0, 0, 5)).value is CANT_EVALUATE
    assert SampledRating(ratings=(0, 0, 5, 4)).value == 4.5  # as many zeros don't outnumber
    assert SampledRating(ratings=(0, None)).value is CANT_EVALUATE
    assert SampledRating(ratings=(5, 4, None), failed=1, needed=2).value == 4.5
    assert SampledRating(ratings=(5, 4, None), failed=1, needed=3).value is TOO_FEW
    assert SampledRating(ratings=(0, 4), failed=2, needed=2).value is TOO_FEW


def test_both_ends_of_the_scale_count_and_nothing_beyond():
    found = rated(digits("1", {"1": 0.25, "5": 0.25, "0": 0.25, "6": 0.25}))

    assert (found.value, found.mass) == (pytest.approx(3.0), pytest.approx(0.5))
    assert list(found.probabilities) == ["1", "5"]


def test_candidates_off_the_scale_alone_are_no_rating():
    assert weighted_rating([digits("4", {"9": 1.0})], 1, 5, label="x") is UNREADABLE
