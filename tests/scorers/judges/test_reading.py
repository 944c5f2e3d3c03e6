"""
Verdicts out of prose, decoration and half a reply.

Ratings out of log-probabilities and samples (checklist D).
"""

from __future__ import annotations

import math

import pytest

from replay.core.adapter import TokenLogprobs
from replay.core.asking import prompt
from replay.core.asking.prompt import first_object, json_problem
from replay.scorers.judges.reading import (
    CANT_EVALUATE,
    TOO_FEW,
    UNREADABLE,
    SampledRating,
    WeightedRating,
    read_match,
    read_rating,
    read_yes_no,
    says_both,
    weighted_rating,
)
from tests.data_tables import from_table


@from_table
def test_the_first_yes_or_no_that_is_an_answer_counts(text, said):
    assert read_yes_no(text) is said


def test_both_words_are_found_in_whatever_sense():
    assert says_both("No doubt: YES")
    assert not says_both("Yes, yes; nobody noticed.")


@from_table
def test_a_rating_is_read_only_where_it_is_clear(text, value):
    read = read_rating(text, 1, 5, label="naturalness")

    assert (read.value if read else None) == value
    if read:
        assert text[read.start :].startswith(f"{value:g}")


@from_table
def test_a_factual_verdict(text, said):
    assert read_match(text) is said


def test_an_object_is_found_among_prose_fences_and_braces():
    text = 'I used {braces} and {"a": 1} before.\n```json\n{"b": [1, "}"], "c": {}}\n```\nDone.'

    assert first_object(text, ("b",)) == {"b": [1, "}"], "c": {}}
    assert first_object(text, ()) == {"a": 1}
    assert first_object(text, ("z",)) == {"a": 1}
    assert first_object("[1, 2]", ()) is None
    assert first_object('{"a": {"b": 1}} {"b": 2}', ("b",)) == {"b": 2}, "one inside another is none"


def test_so_many_braces_are_tried_and_so_many_characters_are_read_in_vain(monkeypatch):
    assert first_object("{" * 999 + '{"a": 1}', ()) == {"a": 1}
    assert first_object("{" * 1000 + '{"a": 1}', ()) is None

    broken = '{"a" 1} {"b" 1} {"c": 1}'  # the first two are given up at their fifth character
    monkeypatch.setattr(prompt, "_CHARACTERS_TRIED", 10)
    assert first_object(broken, ()) == {"c": 1}
    monkeypatch.setattr(prompt, "_CHARACTERS_TRIED", 9)
    assert first_object(broken, ()) is None


def test_a_reply_that_is_nested_too_deeply_is_passed_over():
    deep = '{"a":' * 10_000

    assert first_object(f'{deep} {"}" * 10_000} {{"b": 1}}', ("b",)) is None
    assert json_problem(deep) == "the object is nested too deeply"


def test_a_reply_full_of_braces_takes_no_time():
    assert first_object("{" * 200_000, ("a",)) is None
    assert first_object('{"a":' * 50_000, ("a",)) is None


def test_the_problem_is_told_in_words():
    assert json_problem("no") == "the reply holds no JSON object"
    assert json_problem('so: {"a": }') == "Expecting value at character 6 of the object"
    assert json_problem('{"a": ' + "9" * 5000 + "}") == "the object holds a number that is too long"
    assert json_problem('{"a": 1}') == "the reply holds no JSON object"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_have_makes_no_object(number):
    assert first_object(f'{{"score": {number}}}', ("score",)) is None
    assert json_problem(f'{{"score": {number}}}') == f"the object holds {number}, which is no JSON"


def digits(text: str, chances: dict[str, float]) -> TokenLogprobs:
    top = tuple((name, math.log(p)) for name, p in chances.items())
    return TokenLogprobs(token=text, logprob=-0.1, top=top)


@pytest.mark.parametrize(
    ("tokens", "value", "mass"),
    [
        # The mean is weighted by probability.
        ([("5", {"5": 0.6, "4": 0.3, "3": 0.1})], 0.6 * 5 + 0.3 * 4 + 0.1 * 3, 1.0),
        # Other tokens are left out, and the rest brought to one.
        ([("5", {"5": 0.4, " 5": 0.2, "Sure": 0.2, "3": 0.2, "9": 0.0001})], (5 * 0.6 + 3 * 0.2) / 0.8, 0.8),
        # Both ends of the scale count, and nothing beyond.
        ([("1", {"1": 0.25, "5": 0.25, "0": 0.25, "6": 0.25})], 3.0, 0.5),
        # It is taken where it stands.
        (
            [("- Natural", {"- Natural": 1.0}), (": ", {": ": 0.9, "1": 0.1}), ("4", {"4": 0.5, "2": 0.5})],
            3.0,
            1.0,
        ),
    ],
)
def test_a_rating_is_the_mean_of_those_that_a_model_held_for_likely(tokens, value, mass):
    found = weighted_rating([digits(*token) for token in tokens], 1, 5, label="naturalness")

    assert isinstance(found, WeightedRating)
    assert (found.value, found.mass) == (pytest.approx(value), pytest.approx(mass))
    assert set(found.probabilities) <= set("12345")


@pytest.mark.parametrize(
    ("text", "chances", "reason"),
    [
        ("0", {"0": 0.9, "3": 0.1}, CANT_EVALUATE),
        ("Well", {"Well": 0.9, "3": 0.1}, UNREADABLE),
        ("4", {"9": 1.0}, UNREADABLE),
    ],
)
def test_zero_cant_be_evaluated_and_prose_or_candidates_off_the_scale_cant_be_read(text, chances, reason):
    assert weighted_rating([digits(text, chances)], 1, 5, label="x") is reason


@pytest.mark.parametrize(
    ("ratings", "more", "value"),
    [
        # What can't be read is left out, never taken as 0: that would be a rating below the worst.
        ((5, 4, None, 0, 3), {}, 4.0),
        ((None, None), {}, UNREADABLE),
        ((0, 0, 5), {}, CANT_EVALUATE),
        ((0, 0, 5, 4), {}, 4.5),  # as many zeros don't outnumber
        ((0, None), {}, CANT_EVALUATE),
        ((5, 4, None), {"failed": 1, "needed": 2}, 4.5),
        ((5, 4, None), {"failed": 1, "needed": 3}, TOO_FEW),
        ((0, 4), {"failed": 2, "needed": 2}, TOO_FEW),
    ],
)
def test_samples_have_a_mean_or_a_reason(ratings, more, value):
    sampled = SampledRating(ratings=ratings, **more)

    assert sampled.value == value
    assert (sampled.zeros, sampled.unreadable) == (ratings.count(0), ratings.count(None))
