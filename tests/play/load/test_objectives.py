"""Objectives: how they are read, when they are met, and which asks were good ones."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, strategies as st

from replay.play.load.objectives import TIMES, ask_objectives, parse_objective, parse_objectives

SLO = {"ttft_p95_s": 0.5, "latency_p99_s": 3, "errors": 0.01, "f1_drop": 0.05, "f1_min": 0.3}


def test_objectives_read_as_they_are_meant():
    assert [str(objective) for objective in parse_objectives(SLO, scorers=["f1"])] == [
        "TTFT p95 at most 0.5 s",
        "latency p99 at most 3 s",
        "errors at most 1 %",
        "f1 at most 0.05 below the lowest level",
        "f1 at least 0.3",
    ]
    assert str(parse_objective("response_p99.9_s", 10)) == "response p99.9 at most 10 s"


@pytest.mark.parametrize("measure", TIMES)
def test_every_time_has_percentiles(measure):
    objective = parse_objective(f"{measure}_p99.9_s", 2.5)
    assert (objective.measure, objective.percentile, objective.threshold, objective.kind) == (
        measure,
        99.9,
        2.5,
        "time",
    )


def test_a_scorers_label_may_look_like_anything_else():
    labels = ["latency", "my_f1_min", "ndcg@3", "errors"]
    assert parse_objective("latency_min", 1, scorers=labels).measure == "latency"
    assert parse_objective("my_f1_min_drop", 1, scorers=labels).measure == "my_f1_min"
    assert parse_objective("ndcg@3_min", 1, scorers=labels).measure == "ndcg@3"
    assert parse_objective("errors_drop", 1, scorers=labels).measure == "errors"
    assert parse_objective("errors", 0.5, scorers=labels).kind == "errors"


@pytest.mark.parametrize("key", ["ttft_p95_s", "errors", "f1_drop"])
def test_at_most_is_met_up_to_the_threshold(key):
    objective = parse_objective(key, 0.5)
    assert objective.met({key: 0.5})
    assert objective.met({key: 0})
    assert not objective.met({key: 0.5000001})


def test_at_least_is_met_from_the_threshold():
    objective = parse_objective("f1_min", 0.5)
    assert objective.met({"f1_min": 0.5})
    assert not objective.met({"f1_min": 0.4999})


@pytest.mark.parametrize("key", SLO)
def test_what_was_not_measured_is_not_met(key):
    objective = parse_objective(key, SLO[key])
    assert not objective.met({})
    assert not objective.met({key: None})
    assert not objective.met({key: math.nan})


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
        parse_objective(key, value, scorers=["f1", "em"])


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(ValueError, match=r"slo\.eror: .*; slo\.f1_min: .*") as caught:
        parse_objectives({"eror": 1, "latency_p99_s": 1, "f1_min": None})
    assert "latency_p99_s: " not in str(caught.value)


def test_a_good_ask_meets_all_goals_that_are_about_asks():
    objectives = ask_objectives(parse_objectives(SLO))
    assert objectives is not None
    assert objectives.longest_s == {"ttft": 0.5, "latency": 3}
    assert objectives.meets({"ttft": 0.5, "latency": 3, "tpot": 9})
    assert not objectives.meets({"ttft": 0.6, "latency": 3})
    assert not objectives.meets({"ttft": 0.5, "latency": 3.1})


def test_of_two_goals_for_one_time_an_ask_has_to_keep_the_more_generous():
    """Half of the asks may take longer than the median's objective and be good all the same."""
    objectives = ask_objectives(parse_objectives({"latency_p50_s": 1, "latency_p99_s": 3}))
    assert objectives is not None
    assert objectives.meets({"latency": 2.9})
    assert objectives == ask_objectives(parse_objectives({"latency_p99_s": 3, "latency_p50_s": 1}))


def test_an_ask_without_a_time_is_no_good_one_but_for_an_answer_of_one_token():
    objectives = ask_objectives(parse_objectives({"ttft_p95_s": 1, "tpot_p95_s": 0.1}))
    assert objectives is not None
    assert objectives.meets({"ttft": 0.5, "tpot": None})
    assert not objectives.meets({"ttft": None, "tpot": 0.05})
    assert not objectives.meets({"tpot": 0.05})
    assert not objectives.meets({"ttft": math.nan, "tpot": 0.05})


def test_without_goals_about_asks_there_are_no_good_ones():
    assert ask_objectives(parse_objectives({"errors": 0.1, "itl_p99_s": 1, "f1_min": 0.1})) is None


@given(st.dictionaries(st.sampled_from(["latency", "response", "ttft", "tpot"]), st.floats(0, 5)))
def test_a_better_ask_is_as_good(values):
    objectives = ask_objectives(
        parse_objectives({f"{m}_p95_s": 1 for m in ("latency", "response", "ttft", "tpot")})
    )
    assert objectives is not None
    if objectives.meets(values):
        assert objectives.meets({measure: value / 2 for measure, value in values.items()})
