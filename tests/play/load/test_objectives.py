"""Objectives: how they are read, when they are met, and which asks were good ones."""

from __future__ import annotations

import math
import re

import pytest

from replay.play.load.objectives import TIMES, ask_limits_s, parse_objective, parse_objectives

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
        (
            "speed",
            1,
            '"speed" is not an objective (allowed: latency, response, ttft, itl, tpot, tpot_done',
        ),
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
def test_what_is_no_objective_is_reported_with_the_nearest_that_is(key, value, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse_objective(key, value, scorers=["f1", "em"])


@pytest.mark.parametrize(
    ("key", "taken", "refused"),
    [
        ("errors", (0, 0.5, 1), (-0.01, 1.01, True, float("nan"))),
        ("latency_p99_s", (0.001, 60), (0, -1, float("inf"))),
        ("f1_min", (-1, 0, 2), (None,)),
    ],
)
def test_thresholds_have_their_ranges(key, taken, refused):
    assert [parse_objective(key, value, scorers=["f1"]).threshold for value in taken] == list(taken)
    for value in refused:
        with pytest.raises(ValueError, match="is not a"):
            parse_objective(key, value, scorers=["f1"])


def test_percentiles_are_more_than_0_and_at_most_100():
    assert parse_objective("latency_p100_s", 1).percentile == 100
    assert parse_objective("latency_p0.1_s", 1).percentile == 0.1
    for key in ("latency_p0_s", "latency_p100.1_s"):
        with pytest.raises(ValueError, match="is not a percentile"):
            parse_objective(key, 1)


def test_all_that_is_wrong_is_reported_at_once():
    with pytest.raises(ValueError, match=r"slo\.eror: .*; slo\.f1_min: .*") as caught:
        parse_objectives({"eror": 1, "latency_p99_s": 1, "f1_min": None})
    assert "latency_p99_s: " not in str(caught.value)


def test_a_good_ask_keeps_to_all_objectives_that_are_about_asks():
    assert ask_limits_s(parse_objectives(SLO)) == {"ttft": 0.5, "latency": 3}
    assert ask_limits_s(parse_objectives({"errors": 0.1, "itl_p99_s": 1, "f1_min": 0.1})) == {}


def test_of_two_objectives_for_one_time_an_ask_has_to_keep_the_more_generous():
    """Half of the asks may take longer than the median's objective and be good all the same."""
    for slo in ({"latency_p50_s": 1, "latency_p99_s": 3}, {"latency_p99_s": 3, "latency_p50_s": 1}):
        assert ask_limits_s(parse_objectives(slo)) == {"latency": 3}
