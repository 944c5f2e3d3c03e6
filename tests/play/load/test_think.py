"""Think times: their laws, and those read from the data."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy.stats import kstest, pearsonr

from replay.core.conversation import Conversation, Turn
from replay.core.errors import InputError
from replay.play.load.section import ThinkTime, think_rng
from tests.data_tables import from_table

UNLIKELY = 1e-3
"""A test of a law fails below this p-value. Seeds are fixed, so none fails by chance; none was chosen."""


def talk(turns: int, **metadata) -> Conversation:
    return Conversation(
        id="album", turns=tuple(Turn(id=str(n), question="Hello?") for n in range(turns)), metadata=metadata
    )


def many(think, count=20_000):
    return np.array(think.gaps_s(talk(count + 1), think_rng(0, 0)))


def test_there_is_one_gap_before_every_turn_but_the_first():
    assert ThinkTime(kind="fixed", seconds=2.5).gaps_s(talk(4), think_rng(0, 0)) == (2.5, 2.5, 2.5)
    assert ThinkTime(kind="none").gaps_s(talk(3), think_rng(0, 0)) == (0, 0)
    assert ThinkTime(kind="fixed", seconds=2.5).gaps_s(talk(1), think_rng(0, 0)) == ()


def test_exponential_think_times_follow_their_law():
    found = many(ThinkTime(kind="exponential", mean_s=3))
    assert kstest(found, "expon", args=(0, 3)).pvalue > UNLIKELY


def test_log_normal_think_times_follow_their_law_by_median():
    found = many(ThinkTime(kind="lognormal", median_s=4, sigma=0.8))
    assert kstest(found, "lognorm", args=(0.8, 0, 4)).pvalue > UNLIKELY
    assert np.median(found) == pytest.approx(4, rel=0.03)


def test_log_normal_think_times_follow_their_law_by_mean():
    found = many(ThinkTime(kind="lognormal", mean_s=4, sigma=0.5))
    assert kstest(found, "lognorm", args=(0.5, 0, 4 / math.exp(0.125))).pvalue > UNLIKELY
    assert found.mean() == pytest.approx(4, rel=0.03)


def test_a_plays_think_times_depend_on_seed_and_number_alone():
    think = ThinkTime(kind="exponential", mean_s=1)
    alone = think.gaps_s(talk(5), think_rng(1, 7))
    assert think.gaps_s(talk(5), think_rng(1, 7)) == alone
    assert think.gaps_s(talk(5), think_rng(1, 8)) != alone
    assert think.gaps_s(talk(5), think_rng(2, 7)) != alone


def test_think_times_of_neighbouring_plays_are_not_alike():
    """A bad way to seed would show here: the first draws of consecutive plays are uniform as well."""
    first = [think_rng(0, number).random() for number in range(5_000)]
    assert kstest(first, "uniform").pvalue > UNLIKELY
    assert pearsonr(first[:-1], first[1:]).pvalue > UNLIKELY


def test_recorded_times_run_from_the_answer_to_the_next_question():
    times = talk(3, timestamps=[10, 20.5, 33], answer_timestamps=[12, 25, None])
    assert ThinkTime(kind="recorded").gaps_s(times, random.Random()) == (8.5, 8.0)


def test_without_the_answers_times_they_run_from_question_to_question():
    times = talk(3, timestamps=["2024-05-01T23:59:50Z", "2024-05-02T00:00:10", "2024-05-02T02:01:10+02:00"])
    assert ThinkTime(kind="recorded").gaps_s(times, random.Random()) == (20, 60)
    partly = talk(3, timestamps=[0, 5, 9], answer_timestamps=[None, 6, None])
    assert ThinkTime(kind="recorded").gaps_s(partly, random.Random()) == (5, 3)


def test_recorded_times_are_scaled_and_then_cut():
    times = talk(4, timestamps=[0, 4, 10, 90])
    assert ThinkTime(kind="recorded", scale=0.5, max_s=3).gaps_s(times, random.Random()) == (2, 3, 3)


@from_table
def test_unknown_recorded_times_are_an_error_that_names_the_conversation(metadata, complaint):
    with pytest.raises(InputError, match=f'conversation "album".*{complaint}'):
        ThinkTime(kind="recorded").gaps_s(talk(3, **metadata), random.Random())


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ThinkTime(kind="fixed", seconds=-1), "seconds is -1"),
        (lambda: ThinkTime(kind="exponential", mean_s=0), "mean_s is 0"),
        (lambda: ThinkTime(kind="lognormal", sigma=1), "either median_s or mean_s"),
        (lambda: ThinkTime(kind="lognormal", sigma=1, mean_s=1, median_s=1), "either median_s or mean_s"),
        (lambda: ThinkTime(kind="lognormal", sigma=1, mean_s=-2), "mean_s is -2"),
        (lambda: ThinkTime(kind="lognormal", sigma=math.nan, mean_s=2), "sigma\n.*finite number"),
        (lambda: ThinkTime(kind="recorded", scale=0), "scale is 0"),
        (lambda: ThinkTime(kind="recorded", max_s=-1), "max_s is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
