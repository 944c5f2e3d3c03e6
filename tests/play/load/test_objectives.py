"""Objectives: how they are read, when they are met, and which asks were good ones."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, strategies as st

from replay.play.load.objectives import TIMES, ask_goals, parse_goal, parse_goals

SLO = {"ttft_p95_s": 0.5, "latency_p99_s": 3, "errors": 0.01, "f1_drop": 0.05, "f1_min": 0.3}


def test_objectives_read_as_they_are_meant():
    assert [str(goal) for goal in parse_goals(SLO, scorers=["f1"])] == [
        "TTFT p95 at most 0.5 s",
        "latency p99 at most 3 s",
        "errors at most 1 %",
        "f1 at most 0.05 below the lowest level",
        "f1 at least 0.3",
    ]
    assert str(parse_goal("response_p99.9_s", 10)) == "response p99.9 at most 10 s"


@pytest.mark.parametrize("measure", TIMES)
def test_every_time_has_percentiles(measure):
    goal = parse_goal(f"{measure}_p99.9_s", 2.5)
    assert (goal.measure, goal.percentile, goal.threshold, goal.kind) == (measure, 99.9, 2.5, "time")


def test_a_scorers_label_may_look_like_anything_else():
    labels = ["latency", "my_f1_min", "ndcg@3", "errors"]
    assert parse_goal("latency_min", 1, scorers=labels).measure == "latency"
    assert parse_goal("my_f1_min_drop", 1, scorers=labels).measure == "my_f1_min"
    assert parse_goal("ndcg@3_min", 1, scorers=labels).measure == "ndcg@3"
    assert parse_goal("errors_drop", 1, scorers=labels).measure == "errors"
    assert parse_goal("errors", 0.5, scorers=labels).kind == "errors"


@pytest.mark.parametrize("key", ["ttft_p95_s", "errors", "f1_drop"])
def test_at_most_is_met_up_to_the_threshold(key):
    goal = parse_goal(key, 0.5)
    assert goal.met({key: 0.5})
    assert goal.met({key: 0})
    assert not goal.met({key: 0.5000001})


def test_at_least_is_met_from_the_threshold():
    goal = parse_goal("f1_min", 0.5)
    assert goal.met({"f1_min": 0.5})
    assert not goal.met({"f1_min": 0.4999})


@pytest.mark.parametrize("key", SLO)
def test_what_was_not_measured_is_not_met(key):
    goal = parse_goal(key, SLO[key])
    assert not goal.met({})
    assert not goal.met({key: None})
    assert not goal.met({key: math.nan})


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("ttft_p95", 1, 'is not an objective; did you mean "ttft_p95_s"?'),
        ("latencey_p99_s", 1, 'did you mean "latency_p99_s"?'),
        ("error", 1, 'did you mean "errors"?'),
        (
            "f2_drop",
            1,
            '"f2" is not a scorer of the scenario; did you mean "f1_drop"? (the scenario has: f1, em)',
        ),
        ("coverage_min", 1, '"coverage" is not a scorer of the scenario (the scenario has: f1, em)'),
        ("speed", 1, '"speed" is not an objective (allowed: latency, response, ttft, itl, tpot as in'),
        ("_min", 1, '"_min" is not an objective'),
        ("latency_p0_s", 1, "0 is not a percentile"),
        ("latency_p101_s", 1, "101 is not a percentile"),
        ("latency_p99_s", 0, "0 is not a positive number of seconds"),
        ("errors", 5, "5 is not a share from 0 to 1 (1 % is 0.01)"),
        ("errors", -0.1, "-0.1 is not a share"),
        ("f1_drop", -1, "-1 is below 0"),
        ("f1_min", "high", "'high' is not a number"),
        ("f1_min", True, "True is not a number"),
        ("f1_min", math.nan, "nan is not a number"),
        ("f1_min", None, "None is not a number"),
    ],
)
def test_what_is_no_objective_is_said_with_the_nearest_that_is(key, value, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse_goal(key, value, scorers=["f1", "em"])


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(ValueError, match=r"slo\.eror: .*; slo\.f1_min: .*") as caught:
        parse_goals({"eror": 1, "latency_p99_s": 1, "f1_min": None})
    assert "latency_p99_s: " not in str(caught.value)


def test_a_good_ask_meets_all_goals_that_are_about_asks():
    goals = ask_goals(parse_goals(SLO))
    assert goals is not None
    assert goals.longest_s == {"ttft": 0.5, "latency": 3}
    assert goals.meets({"ttft": 0.5, "latency": 3, "tpot": 9})
    assert not goals.meets({"ttft": 0.6, "latency": 3})
    assert not goals.meets({"ttft": 0.5, "latency": 3.1})


def test_of_two_goals_for_one_time_an_ask_has_to_keep_the_more_generous():
    """Half of the asks may take longer than the median's goal and be good all the same."""
    goals = ask_goals(parse_goals({"latency_p50_s": 1, "latency_p99_s": 3}))
    assert goals is not None
    assert goals.meets({"latency": 2.9})
    assert goals == ask_goals(parse_goals({"latency_p99_s": 3, "latency_p50_s": 1}))


def test_an_ask_without_a_time_is_no_good_one_but_for_an_answer_of_one_token():
    goals = ask_goals(parse_goals({"ttft_p95_s": 1, "tpot_p95_s": 0.1}))
    assert goals is not None
    assert goals.meets({"ttft": 0.5, "tpot": None})
    assert not goals.meets({"ttft": None, "tpot": 0.05})
    assert not goals.meets({"tpot": 0.05})
    assert not goals.meets({"ttft": math.nan, "tpot": 0.05})


def test_without_goals_about_asks_there_are_no_good_ones():
    assert ask_goals(parse_goals({"errors": 0.1, "itl_p99_s": 1, "f1_min": 0.1})) is None


@given(st.dictionaries(st.sampled_from(["latency", "response", "ttft", "tpot"]), st.floats(0, 5)))
def test_a_better_ask_is_as_good(values):
    goals = ask_goals(parse_goals({f"{m}_p95_s": 1 for m in ("latency", "response", "ttft", "tpot")}))
    assert goals is not None
    if goals.meets(values):
        assert goals.meets({measure: value / 2 for measure, value in values.items()})
